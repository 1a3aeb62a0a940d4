/** Owners of fields (metadata.managedFields) and the versions that they name: a version that is retired is named by no entry any more. */
import { atomOf } from '../api/managed-fields/typed.ts'
import { fieldMove } from '../api/managed-fields/field-moves.ts'
import { moveEntries, type EntryMove } from '../api/managed-fields/move-entries.ts'
import { ignoreTimestamps } from '../api/managed-fields/timestamps.ts'
import type { Conversion } from '../api/conversion.ts'
import { formatApiVersion, type KubeObject } from '../api/object.ts'
import { findVersion, type ResourceDefinition, type VersionDefinition } from '../api/resource.ts'
import { oldestFirst } from '../api/version-order.ts'
import type { Retirements } from '../../storage/object-codec.ts'

/** See `openFieldOwners`. Objects are in hub form. */
export interface FieldOwners {
  /** Whether an entry of the object names the version. */
  names(object: KubeObject, version: string): boolean
  /**
   * The object with the entries of retired versions, and of the one that is being retired, in the nearest version that is not: a newer one if there is one. The object
   * itself where there are none. With the live object (`live`, called when it is needed) a write that changes nothing but times changes nothing.
   */
  settle(object: KubeObject, retirements: Retirements, live?: () => KubeObject): KubeObject
}

/** The owners of a resource's objects. `view` shows a hub object in a version. */
export function openFieldOwners(definition: ResourceDefinition, conversion: Conversion, view: (hubObject: KubeObject, version: string) => KubeObject): FieldOwners {
  const apiVersionOf = (version: string): string => formatApiVersion(definition.group, version)
  const names = (object: KubeObject, version: string): boolean => object.metadata.managedFields?.some(({ apiVersion }) => apiVersion === apiVersionOf(version)) ?? false
  const moves = new Map<string, EntryMove>()
  const moveBetween = (from: string, to: string): EntryMove => {
    const key = `${from} ${to}`
    const move = moves.get(key) ?? entryMove(definition, conversion, from, to)
    moves.set(key, move)
    return move
  }
  const without = (object: KubeObject, version: string, gone: ReadonlySet<string>): KubeObject => {
    const to = successor(definition, version, gone)
    if (to === undefined || !names(object, version)) return object
    const managedFields = moveEntries(object.metadata.managedFields, moveBetween(version, to), view(object, to))
    const { managedFields: _, ...metadata } = object.metadata
    return { ...object, metadata: { ...metadata, ...(managedFields?.length && { managedFields }) } as KubeObject['metadata'] }
  }
  return {
    names,
    settle(object, { retiredVersions, retiring }, live) {
      if (retiredVersions.length === 0 && retiring === undefined) return object
      const gone = new Set([...retiredVersions.map(({ version }) => version), ...(retiring === undefined ? [] : [retiring])])
      const settled = [...gone].reduce((made, version) => without(made, version, gone), object)
      return settled === object || live === undefined ? settled : ignoreTimestamps(settled, live())
    },
  }
}

// The nearest version, newer ones first, that may be named; one that is served before any other.
function successor(definition: ResourceDefinition, version: string, gone: ReadonlySet<string>): string | undefined {
  const order = oldestFirst(definition.versions.map(({ name }) => name))
  const at = order.indexOf(version)
  if (at < 0) return undefined
  const candidates = [...order.slice(at + 1), ...order.slice(0, at).reverse()].filter((name) => !gone.has(name))
  return candidates.find((name) => findVersion(definition, name)?.served) ?? candidates[0]
}

function entryMove(definition: ResourceDefinition, { lenses = [], hub }: Conversion, from: string, to: string): EntryMove {
  const typed = (name: string) => ({ apiVersion: formatApiVersion(definition.group, name), type: atomOf(findVersion(definition, name) as VersionDefinition) })
  // The lenses are a chain; from the hub down.
  const chain = [hub]
  for (let lens = lensBelow(hub); lens !== undefined; lens = lensBelow(lens.older)) chain.push(lens.older)
  function lensBelow(newer: string) {
    return lenses.find((lens) => lens.newer === newer)
  }
  const [start, end] = [chain.indexOf(from), chain.indexOf(to)]
  const route = lenses.length === 0 ? [] : start > end ? chain.slice(end, start + 1).reverse() : chain.slice(start, end + 1)
  const steps = route.slice(1).map((next, i) => {
    const last = route[i] as string
    const up = lenses.find((lens) => lens.older === last && lens.newer === next)
    const down = lenses.find((lens) => lens.older === next && lens.newer === last)
    return { type: typed(last).type, move: up ? fieldMove(up, 'older') : fieldMove(down as NonNullable<typeof down>, 'newer') }
  })
  return { from: typed(from), to: typed(to), steps }
}
