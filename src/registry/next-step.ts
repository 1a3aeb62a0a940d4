/** What an operator should do next with the storage of a resource: a pure function of what is known of it. */
import { plural } from '../base/plural.ts'
import type { StorageStatus } from './storage-admin.ts'

type Known = Omit<StorageStatus, 'next' | 'store'>

/** One sentence with the command. */
export function nextStep(status: Known): string {
  const { resource, versions, mode, encodingVersion, storedVersions, retiredVersions, quarantined, migration, byVersion } = status
  const stored = storedVersions.map(({ version }) => version)
  if (versions.length === 0) return 'This program does not know the resource: run the release, or give the definition, that does'
  if (mode === 'Importing') return 'A restore has not ended: the same storage restore continues it'
  if (mode === 'ReadOnly') return 'Writes are frozen'
  if (quarantined > 0) return `${plural(quarantined, 'object')} cannot be used: see storage quarantine list, then replace or delete ${quarantined === 1 ? 'it' : 'them'}`
  const unfinished = migration && unfinishedStep(migration)
  if (unfinished !== undefined) return unfinished
  const headless = byVersion[''] ?? 0
  if (headless > 0) return `storage verify puts what cannot be used into quarantine: ${plural(headless, 'object')} without a readable header`
  const newest = versions.findLast((version) => !retiredVersions.some((retired) => retired.version === version)) as string
  const lagging = status.replicas.filter(({ live, encodable }) => live && !encodable.includes(newest))
  if (stored.length > 1) return `storage migrate writes everything at ${encodingVersion} and takes ${others(stored, encodingVersion)} away`
  if (encodingVersion !== newest && lagging.length > 0) return `When all replicas of ${resource} know ${newest}: storage set-version ${newest}`
  if (encodingVersion !== newest) return `storage set-version ${newest}, then storage migrate`
  return 'Nothing: all objects are stored at the newest version'
}

function others(stored: readonly string[], encodingVersion: string): string {
  return stored.filter((version) => version !== encodingVersion).join(', ')
}

function unfinishedStep({ phase, reason, retiring, owner }: NonNullable<Known['migration']>): string | undefined {
  const [what, command] = retiring === undefined ? ['migration', 'storage migrate'] : [`retirement of ${retiring}`, `storage retire-version ${retiring}`]
  if (phase === 'Blocked') return `The quarantine is empty again: ${command} continues the ${what}`
  if (owner !== undefined) return `A ${what} is under way, by ${owner}: ${command} follows it`
  if (phase === 'Paused' && reason === 'NoSpace') return `Make room in the store: ${command} then continues the ${what}`
  return phase === 'Succeeded' || phase === 'Aborted' ? undefined : `A ${what} has not ended: ${command} continues it`
}
