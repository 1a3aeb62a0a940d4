/** One object from a version to another, without the live object: what a conversion webhook may do. */
import { compileRules } from '../api/cel.ts'
import type { Conversion, Remainder } from '../api/conversion.ts'
import { embeddedErrors } from '../api/embedded.ts'
import { listTypeErrors } from '../api/list-type.ts'
import { getKey, isObject, parseApiVersion, type Json, type JsonObject, type KubeObject } from '../api/object.ts'
import { shape } from '../api/receive.ts'
import { findVersion, type ResourceDefinition, type VersionDefinition } from '../api/resource.ts'
import type { FieldError } from '../api/status.ts'
import { validateSchema } from '../api/validate.ts'
import { addRemainder, ConversionError, dropRemainder, readRemainder } from './remainder.ts'

/** What the webhook converts: a definition with its conversion. */
export interface ConvertedResource {
  readonly definition: ResourceDefinition
  readonly conversion: Conversion
}

/** Converts objects of several resources; the result has apiVersion `desired`. Throws ConversionError, whose message names the object. */
export type ConvertObject = (object: Json, desired: string) => JsonObject

/** Errors told of one object. */
const TOLD = 10

/** Compiles the conversion of some resources. */
export function openConverter(resources: readonly ConvertedResource[]): ConvertObject {
  const known = new Map(resources.map((resource) => [`${resource.definition.group}/${resource.definition.names.kind}`, openResource(resource)]))
  return (object, desired) => {
    const { apiVersion, kind, metadata } = isObject(object) ? object : {}
    if (!isObject(object) || typeof apiVersion !== 'string' || typeof kind !== 'string') throw new ConversionError('an object has no apiVersion and kind')
    if (!isObject(metadata)) throw new ConversionError(`${kind}: the object has no metadata`)
    const [from, to] = [parseApiVersion(apiVersion), parseApiVersion(desired)]
    try {
      const convert = known.get(`${from.group}/${kind}`)
      if (convert === undefined) throw new ConversionError(`no kind ${kind} is known in ${from.group === '' ? 'the core group' : from.group}`)
      if (from.group !== to.group) throw new ConversionError(`${apiVersion} cannot become ${desired}, which is of another group`)
      return convert(object as KubeObject, from.version, to.version)
    } catch (error) {
      if (error instanceof ConversionError) throw new ConversionError(`${nameOf(kind, metadata)}: ${error.message}`, { cause: error })
      throw error
    }
  }
}

function nameOf(kind: string, metadata: JsonObject): string {
  const { namespace, name } = { namespace: getKey(metadata, 'namespace'), name: getKey(metadata, 'name') }
  return typeof name === 'string' ? `${kind} ${typeof namespace === 'string' ? `${namespace}/` : ''}${name}` : kind
}

type ConvertVersions = (object: KubeObject, from: string, to: string) => KubeObject

function openResource({ definition, conversion }: ConvertedResource): ConvertVersions {
  const version = (name: string): VersionDefinition => {
    const found = findVersion(definition, name)
    if (found === undefined) throw new ConversionError(`there is no version ${definition.group}/${name}`)
    return found
  }
  const check = openCheck(version(conversion.hub))
  const lift = (object: KubeObject, from: string): KubeObject => {
    const remainder = conversion.poorer?.includes(from) ? readRemainder(object.metadata) : undefined
    const whole = shape({ ...object, metadata: {} }, version(from), { defaults: true })
    const hub = load(conversion, whole, from, remainder)
    // What was written in the version has been validated in it; what came in the annotation has not been validated at all.
    if (remainder !== undefined) check({ ...hub, metadata: object.metadata })
    return hub
  }
  return (object, from, to) => {
    const target = version(to)
    version(from)
    if (from === to) return object
    const metadata = dropRemainder(object.metadata)
    const { object: shown, remainder } = conversion.store(lift(object, from), to)
    const known = shape(shown, target, { defaults: false })
    return { ...known, metadata: (remainder === undefined ? metadata : addRemainder(metadata, remainder)) as KubeObject['metadata'] }
  }
}

function load(conversion: Conversion, object: KubeObject, version: string, remainder: Remainder | undefined): KubeObject {
  return conversion.load({ version, object, ...(remainder && { remainder }) })
}

// Rules about a change need the live object, which a webhook has not: its own version has held them.
function openCheck({ schema }: VersionDefinition): (object: KubeObject) => void {
  const rules = compileRules(schema)
  return (object) => {
    const errors = [...validateSchema(object, schema), ...embeddedErrors(object, schema), ...listTypeErrors(object, schema)]
    const found = errors.length > 0 || rules.empty ? errors : rules.evaluate(object, undefined).errors
    if (found.length > 0) throw new ConversionError(`the annotation yields an object that is not valid: ${describe(found)}`)
  }
}

function describe(errors: readonly FieldError[]): string {
  const told = errors.slice(0, TOLD).map(({ field, body }) => `${field}: ${body.slice(0, 500)}`)
  return [...told, ...(errors.length > TOLD ? [`and ${errors.length - TOLD} more`] : [])].join('; ')
}
