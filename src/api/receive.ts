/**
 * What happens to an object between its decoding and its validation, and to a stored or converted object before it is shown.
 * upstream: apiextensions-apiserver/pkg/apiserver/customresource_handler.go unstructuredSchemaCoercer.apply, unstructuredDefaulter
 */
import { applyDefaults } from './default.ts'
import { coerceEmbedded } from './embedded.ts'
import { coerceMetadata } from './metadata-coerce.ts'
import type { KubeObject } from './object.ts'
import { dropNulls, prune } from './prune.ts'
import type { VersionDefinition } from './resource.ts'

/** `defaults`: whether absent fields are filled, as for what comes from the store; not after a conversion. */
export interface ShapeOptions {
  readonly defaults: boolean
}

/**
 * A request's object as its version knows it: metadata coerced, unknown fields and nulls dropped, defaults filled. `findings` are
 * the unknown fields, for strict decoding to refuse; the decoder's own come before them. Throws DecodeError with upstream's inner
 * text for malformed metadata; `decodingError` of codec.ts makes the 400 of it. An object of another kind must not come here.
 */
export function receive(object: KubeObject, version: VersionDefinition): { object: KubeObject; findings: string[] } {
  const meta = coerceMetadata(object, { lenient: false })
  const pruned = prune(meta.object, version.schema, { root: true })
  const withoutNulls = keepTypeAndMetadata(pruned.value, dropNulls(pruned.value, version.schema))
  const embedded = coerceEmbedded(withoutNulls, version.schema, { lenient: false })
  const unknown = [...meta.unknown, ...pruned.unknown, ...embedded.unknown]
  return { object: applyDefaults(embedded.object, version.schema), findings: unknown.map((path) => `unknown field "${path}"`) }
}

/** The same of an object of another kind or version, which is about to be refused: its metadata alone is looked at. */
export function receiveMetadata(object: KubeObject): { object: KubeObject; findings: string[] } {
  const { object: coerced, unknown } = coerceMetadata(object, { lenient: false })
  return { object: coerced, findings: unknown.map((path) => `unknown field "${path}"`) }
}

/** As `receive`, but silently and leniently: malformed metadata fields are dropped. The same object when nothing changes. */
export function shape(object: KubeObject, version: VersionDefinition, options: ShapeOptions): KubeObject {
  const { schema } = version
  const coerced = coerceMetadata(object, { lenient: true }).object
  const pruned = prune(coerced, schema, { root: true }).value
  const embedded = coerceEmbedded(keepTypeAndMetadata(pruned, dropNulls(pruned, schema)), schema, { lenient: true }).object
  return options.defaults ? applyDefaults(embedded, schema) : embedded
}

// Upstream restores what it set aside: a schema that describes metadata must not change what ObjectMeta gave.
function keepTypeAndMetadata(before: KubeObject, after: KubeObject): KubeObject {
  return after.metadata === before.metadata ? after : { ...after, metadata: before.metadata }
}
