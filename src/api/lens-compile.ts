/** Lenses that run: operations compiled into steps, once, after the check that no field of either schema is forgotten. */
import { formatApiVersion, parseApiVersion, type JsonObject, type KubeObject } from './object.ts'
import { applyDefaults } from './default.ts'
import { checkCoverage } from './lens-coverage.ts'
import { eachStep } from './lens-list.ts'
import { inheritStep, pickStep, verdictStep } from './lens-operations.ts'
import { leafStep, newerStep, objectStep, unshownStep, type Step } from './lens-step.ts'
import type { Lens, Names, Operation } from './lens.ts'
import { dropNulls, prune } from './prune.ts'
import type { Schema } from './schema.ts'

/** A lens that runs. Objects are whole, pruned and defaulted in their own version; metadata passes through. */
export interface CompiledLens {
  readonly older: string
  readonly newer: string
  /** True when the older version shows all there is: `cut` never finds anything. */
  readonly lossless: boolean
  /** The newer object as the older version shows it. */
  get(newer: KubeObject): KubeObject
  /** What was written in the older version, put into the newer original. */
  put(older: KubeObject, original: KubeObject): KubeObject
  /** What was written in the older version, where there is no original: the newer version's defaults complete it. */
  create(older: KubeObject): KubeObject
  /** What `get` does not show of the newer object, or undefined. */
  cut(newer: KubeObject): JsonObject | undefined
  /** `put`, with what was cut from the original in place of it. The remainder is hostile input: what does not fit is passed over. */
  complete(older: KubeObject, remainder: JsonObject): KubeObject
}

/** Compiles a lens against the schemas of its two versions. Throws an Error that lists the fields that it forgets or that do not fit. */
export function compileLens(lens: Lens, olderSchema: Schema, newerSchema: Schema): CompiledLens {
  const unshown = checkCoverage(lens, olderSchema, newerSchema)
  const steps = compileOperations(lens.operations, { older: olderSchema, newer: '', unshown, standing: standingFor(lens.operations, '') })
  const lossless = steps.every((step) => step.lossless)
  const finish = (object: KubeObject): KubeObject =>
    applyDefaults(dropNulls(prune(object, newerSchema, { root: true }).value, newerSchema), newerSchema)
  const putInto = (older: KubeObject, kept: JsonObject | undefined): KubeObject => {
    const made = frame(older, lens.newer)
    for (const step of steps) step.put(older, made, kept)
    return finish(made)
  }
  const cut = (newer: KubeObject): JsonObject | undefined => {
    if (lossless) return undefined
    const kept: JsonObject = {}
    for (const step of steps) if (!step.lossless) step.cut(newer, kept)
    return Object.keys(kept).length > 0 ? kept : undefined
  }
  return {
    older: lens.older,
    newer: lens.newer,
    lossless,
    get(newer) {
      const shown = frame(newer, lens.older)
      for (const step of steps) step.get(newer, shown)
      return shown
    },
    put: (older, original) => putInto(older, cut(original)),
    create: (older) => putInto(older, undefined),
    cut,
    complete: putInto,
  }
}

function frame(object: KubeObject, version: string): KubeObject {
  const { group } = parseApiVersion(object.apiVersion)
  return { apiVersion: formatApiVersion(group, version), kind: object.kind, metadata: object.metadata }
}

// Where operations stand: the older schema there, the newer place, and what the lens says of newer places as a whole.
interface Place {
  readonly older: Schema | undefined
  readonly newer: string
  /** Objects that the older version does not show. */
  readonly unshown: readonly string[]
  /** Objects and items of lists that have steps of their own. */
  readonly standing: readonly string[]
}

function compileOperations(operations: readonly Operation[], place: Place): Step[] {
  const mine = place.unshown.filter((path) => holderOf(path, place.standing) === place.newer)
  const prefix = place.newer === '' ? 0 : place.newer.length + 1
  return [...operations.flatMap((operation) => compileOperation(operation, place)), ...mine.map((path) => unshownStep(path.slice(prefix)))]
}

// The innermost object with steps of its own around a place.
function holderOf(path: string, standing: readonly string[]): string {
  return standing.reduce((best, holder) => (path.startsWith(`${holder}.`) && holder.length > best.length ? holder : best), '')
}

function standingFor(operations: readonly Operation[], prefix: string): string[] {
  return operations.flatMap((operation) => {
    if (operation.op !== 'rename' && operation.op !== 'inherit' && operation.op !== 'each') return []
    if (operation.operations === undefined) return []
    const path = `${prefix}${operation.newer}${operation.op === 'each' ? '[]' : ''}`
    return [path, ...standingFor(operation.operations, `${path}.`)]
  })
}

function compileOperation(operation: Operation, place: Place): Step[] {
  const { older } = place
  const inside = (field: string, newer: string, items = ''): Place => {
    const schema = below(older, field)
    return { ...place, older: items === '' ? schema : schema?.items, newer: `${place.newer === '' ? '' : `${place.newer}.`}${newer}${items}` }
  }
  switch (operation.op) {
    case 'same':
      return operation.fields.map((field) => leafStep(field, field))
    case 'rename':
      if (operation.operations === undefined) return [leafStep(operation.older, operation.newer)]
      return [objectStep(operation.older, operation.newer, compileOperations(operation.operations, inside(operation.older, operation.newer)))]
    case 'wrap':
      return [leafStep(operation.older, `${operation.newer}.${operation.key}`)]
    case 'group':
      return gather(operation.fields, '', operation.newer)
    case 'regroup':
      return Object.entries(operation.objects).flatMap(([object, fields]) => gather(fields, `${object}.`, operation.newer))
    case 'pick': {
      const fields = below(older, operation.field)?.properties ?? {}
      return [pickStep(operation, Object.fromEntries(operation.keys.map((key) => [key, fields[key]?.default])))]
    }
    case 'each':
      return [eachStep(operation, compileOperations(operation.operations, inside(operation.older, operation.newer, '[]')))]
    case 'verdict':
      return [verdictStep(operation)]
    case 'inherit': {
      const steps = compileOperations(operation.operations, inside(operation.older, operation.newer))
      return [inheritStep(operation, steps, operation.operations.flatMap(olderFields))]
    }
    case 'newer':
      return operation.fields.map(newerStep)
  }
}

function gather(fields: Names, prefix: string, newer: string): Step[] {
  return Object.entries(fields).map(([older, name]) => leafStep(prefix + older, `${newer}.${name}`))
}

// The older places that an operation reads.
function olderFields(operation: Operation): string[] {
  switch (operation.op) {
    case 'same':
      return [...operation.fields]
    case 'group':
      return Object.keys(operation.fields)
    case 'regroup':
      return Object.keys(operation.objects)
    case 'pick':
      return [operation.field]
    case 'newer':
      return []
    default:
      return [operation.older]
  }
}

function below(schema: Schema | undefined, path: string): Schema | undefined {
  return path.split('.').reduce<Schema | undefined>((at, name) => at?.properties?.[name], schema)
}
