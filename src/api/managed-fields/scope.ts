/**
 * What ownership must know about the resource of a request: the types of its versions, the way between them, and which fields the
 * endpoint resets.
 * upstream: apimachinery/pkg/util/managedfields/internal/{versionconverter,typeconverter}.go,
 * apiextensions-apiserver/pkg/apiserver/customresource_handler.go
 */
import { formatApiVersion, isObject, parseApiVersion, type KubeObject } from '../object.ts'
import { findVersion, type ResourceDefinition } from '../resource.ts'
import { fieldSet, type FieldSet } from './field-set.ts'
import { fieldPath } from './path.ts'
import { atomOf, SCALE_ATOM, type Atom } from './typed.ts'
import { validateTyped } from './validate.ts'

/**
 * The object in another version. What the object's own version cannot show is taken from the live object, and with `original` (the
 * object after a merge, in the request version) from there.
 */
export type Convert = (object: KubeObject, version: string, original?: KubeObject) => KubeObject

/** The endpoint of a request. `subresource` is "" for the resource itself. */
export interface Endpoint {
  readonly definition: ResourceDefinition
  /** The request version. */
  readonly version: string
  readonly subresource: '' | 'status' | 'scale'
  /** Absent when the versions differ in their apiVersion only (conversion strategy None). */
  readonly convert?: Convert | undefined
}

/** An endpoint as the algorithms see it. */
export interface Scope {
  readonly apiVersion: string
  readonly kind: string
  readonly subresource: string
  /** The type of a version's objects; nothing for a version that is not defined (any more). */
  typeOf(apiVersion: string): Atom | undefined
  /** Conversion changes nothing but the apiVersion. */
  readonly renames: boolean
  /** The object in a version that `typeOf` knows. */
  convert(object: KubeObject, apiVersion: string, original?: KubeObject): KubeObject
  /** Fields that nobody owns through this endpoint, in the terms of a version. */
  resetFields(apiVersion: string): FieldSet | undefined
}

const STATUS = fieldSet(fieldPath('status'))
const ALL_BUT_STATUS = fieldSet(fieldPath('metadata'), fieldPath('spec'))

/** The scope of a request. The objects of the scale subresource are Scales. */
export function scopeOf(endpoint: Endpoint): Scope {
  return endpoint.subresource === 'scale' ? SCALE_SCOPE : resourceScope(endpoint)
}

function resourceScope({ definition, version, subresource, convert }: Endpoint): Scope {
  const { group, names } = definition
  const versionOf = (apiVersion: string) => {
    const parsed = parseApiVersion(apiVersion)
    return parsed.group === group ? findVersion(definition, parsed.version) : undefined
  }
  return {
    apiVersion: formatApiVersion(group, version),
    kind: names.kind,
    subresource,
    renames: convert === undefined,
    typeOf(apiVersion) {
      const found = versionOf(apiVersion)
      return found && atomOf(found)
    },
    convert(object, apiVersion, original) {
      if (object.apiVersion === apiVersion) return object
      if (convert === undefined) return { ...object, apiVersion }
      // Between the steps of an apply an object may have lost its metadata.
      const whole = isObject(object.metadata) ? object : { ...object, metadata: {} }
      return convert(whole, parseApiVersion(apiVersion).version, original)
    },
    resetFields(apiVersion) {
      const found = versionOf(apiVersion)
      if (found?.subresources?.status === undefined) return undefined
      if (subresource === 'status') return ALL_BUT_STATUS
      // Not of the other versions: a status that was written through one of them is still compared, and its owner may lose it.
      return found.name === version ? STATUS : undefined
    },
  }
}

const SCALE_SCOPE: Scope = {
  apiVersion: 'autoscaling/v1',
  kind: 'Scale',
  subresource: 'scale',
  renames: true,
  typeOf: (apiVersion) => (apiVersion === 'autoscaling/v1' ? SCALE_ATOM : undefined),
  convert: (object) => object,
  resetFields: () => undefined,
}

/**
 * The object in a version, checked to be of its type; nothing when there is no such version. Throws TypeMismatch, whose message begins
 * with `lead`. `original` as for Convert. upstream: versionConverter.Convert
 */
export function convertTyped(scope: Scope, object: KubeObject, apiVersion: string, lead: string, original?: KubeObject): KubeObject | undefined {
  const type = scope.typeOf(apiVersion)
  if (type === undefined) return undefined
  const converted = scope.convert(object, apiVersion, original)
  if (converted !== object) validateTyped(converted, type, { allowDuplicates: false, lead })
  return converted
}
