/**
 * Scales in bodies.
 * upstream: k8s.io/api/autoscaling/v1, client-go/scale/scheme
 */
import { kindOf, notRegistered } from './decode-object.ts'
import type { Fields, GoType } from './definition-types.ts'
import { DecodeError } from './go-json-error.ts'
import { decodeGoStruct } from './go-struct.ts'
import { isObject, type Json, type JsonObject } from './object.ts'
import type { Message } from './protobuf.ts'
import { OBJECT_META } from './protobuf-meta.ts'
import { makeScale, SCALE_KIND, type Scale } from './scale.ts'

const struct = (go: string, fields: Fields): GoType => ({ kind: 'struct', go, fields: () => fields })
const replicasField: GoType = { kind: 'int32', go: 'int32' }
const text: GoType = { kind: 'string', go: 'string' }

const SCALE_TYPE = struct('v1.Scale', new Map<string, GoType>([
  ['apiVersion', text],
  ['kind', text],
  ['metadata', { kind: 'metadata', go: 'v1.ObjectMeta' }],
  ['spec', struct('v1.ScaleSpec', new Map([['replicas', replicasField]]))],
  ['status', struct('v1.ScaleStatus', new Map([['replicas', replicasField], ['selector', text]]))],
]))

/** A decoded Scale, and the unknown fields that it had. */
export interface DecodedScale {
  readonly scale: Scale
  readonly findings: string[]
}

/** Reads a body or a patched Scale. `fromYaml`: it came as YAML. Throws DecodeError for another kind and for values of wrong types. */
export function decodeScale(value: Json, { fromYaml }: { readonly fromYaml: boolean }): DecodedScale {
  const actual = kindOf(value, SCALE_KIND)
  const { group, version, kind } = actual
  if (kind !== SCALE_KIND.kind || !VERSIONS.has(`${group}/${version}`)) throw notRegistered(actual)
  if (group !== SCALE_KIND.group) throw new DecodeError(`converting (${version}.Scale) to (v1.Scale): unknown conversion`)
  const { value: decoded, unknown } = decodeGoStruct(value, SCALE_TYPE, { sorted: fromYaml })
  return { scale: readScale(decoded), findings: unknown.map((path) => `unknown field "${path}"`) }
}

// Scales that a client library knows, and that no server converts. upstream: client-go/scale: NewScaleConverter
const VERSIONS = new Set(['autoscaling/v1', 'extensions/v1beta1', 'apps/v1beta1', 'apps/v1beta2'])

/** A Scale out of a decoded message or struct, whose values are of the right types. */
export function readScale(decoded: JsonObject): Scale {
  const spec = isObject(decoded.spec) ? decoded.spec : {}
  const status = isObject(decoded.status) ? decoded.status : {}
  return makeScale({
    metadata: isObject(decoded.metadata) ? decoded.metadata : {},
    replicas: Number(spec.replicas ?? 0) | 0,
    current: Number(status.replicas ?? 0) | 0,
    selector: typeof status.selector === 'string' ? status.selector : '',
  })
}

/** autoscaling/v1 Scale. upstream: k8s.io/api/autoscaling/v1/generated.proto */
export const SCALE_MESSAGE: Message = {
  1: { name: 'metadata', type: OBJECT_META },
  2: { name: 'spec', type: { 1: { name: 'replicas', type: 'int' } } },
  3: { name: 'status', type: { 1: { name: 'replicas', type: 'int' }, 2: { name: 'selector', type: 'string' } } },
}
