/**
 * The steps around an ownership change that updates and applies share: fields that are never owned, and the cap on entries of updates.
 * upstream: apimachinery/pkg/util/managedfields/internal/{stripmeta,capmanagers,managedfieldsupdater}.go
 */
import { compareBytes } from '../go-text.ts'
import { formatTime } from '../go-time.ts'
import type { KubeObject } from '../object.ts'
import { difference, fieldSet, union } from './field-set.ts'
import { managerIdentifier, seconds, type Managed, type Managers, type OwnedFields } from './managers.ts'
import { fieldPath } from './path.ts'
import type { Scope } from './scope.ts'
import { ownUpdated, withManager } from './updater.ts'

const NEVER_OWNED = fieldSet(
  ...['apiVersion', 'kind', 'metadata'].map((name) => fieldPath(name)),
  ...['name', 'namespace', 'creationTimestamp', 'selfLink', 'uid', 'clusterName', 'generation', 'managedFields', 'resourceVersion'].map((name) =>
    fieldPath('metadata', name)),
)

/** The managers with what is never owned taken from one of them, who goes when nothing is left. upstream: stripMetaManager.stripFields */
export function stripMetadata(managers: Managers, manager: string): Managers {
  const owned = managers.get(manager)
  return owned ? withManager(managers, manager, { ...owned, set: difference(owned.set, NEVER_OWNED) }) : managers
}

/** Stands for the writer of an update, whose earlier entry is compared like everybody's. upstream: managedFieldsUpdater.Update */
const CURRENT_OPERATION = 'current-operation'

/**
 * Ownership after a write that is no apply; both objects are validated and without managedFields. The time of the writer's entry
 * changes only when it has taken a field. `now` in milliseconds since the epoch.
 */
export function trackWrite(scope: Scope, live: KubeObject, next: KubeObject, managed: Managed, writer: string, now: number): Managed {
  const managers = new Map(stripMetadata(ownUpdated(scope, live, next, managed.managers, CURRENT_OPERATION), CURRENT_OPERATION))
  const written = managers.get(CURRENT_OPERATION)
  if (written === undefined) return capUpdaters({ managers, times: managed.times })
  managers.delete(CURRENT_OPERATION)
  const manager = managerIdentifier({ manager: writer || 'unknown', operation: 'Update', apiVersion: scope.apiVersion, subresource: scope.subresource })
  const previous = managers.get(manager)
  managers.set(manager, previous ? { ...written, set: union(written.set, previous.set) } : written)
  return capUpdaters({ managers, times: new Map(managed.times).set(manager, formatTime(now)) })
}

const MAX_UPDATERS = 10

// The oldest entries of updates are joined, version by version, until ten are left. upstream: capManagersManager.capUpdateManagers
function capUpdaters(managed: Managed): Managed {
  const updaters = [...managed.managers].filter(([, { applied }]) => !applied).map(([manager]) => manager)
  if (updaters.length <= MAX_UPDATERS) return managed
  const managers = new Map(managed.managers)
  const times = new Map(managed.times)
  updaters.sort((a, b) => seconds(times.get(a)) - seconds(times.get(b)) || compareBytes(a, b))
  const firsts = new Map<string, string>()
  let count = updaters.length
  for (const manager of updaters) {
    if (count <= MAX_UPDATERS) break
    const owned = managers.get(manager) as OwnedFields
    const first = firsts.get(owned.apiVersion)
    if (first === undefined) {
      firsts.set(owned.apiVersion, manager)
      continue
    }
    const bucket = managerIdentifier({ manager: 'ancient-changes', operation: 'Update', apiVersion: owned.apiVersion, subresource: '' })
    const held = managers.get(bucket) ?? (managers.get(first) as OwnedFields)
    if (!managers.has(bucket)) managers.delete(first)
    managers.set(bucket, { ...owned, set: union(owned.set, held.set) })
    // Also when it is the bucket itself, which upstream then loses.
    managers.delete(manager)
    count--
    const time = times.get(manager)
    if (time === undefined) times.delete(bucket)
    else times.set(bucket, time)
  }
  return { managers, times }
}
