/** Storage in words: what the commands print for a person. */
import type { DryRun } from '../../../storage/migrate-dry-run.ts'
import type { Verification } from '../../../storage/verify.ts'
import { plural } from '../../base/plural.ts'
import type { Migration, StorageStatus } from '../../registry/storage-admin.ts'

const count = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 })

/** A number with separators. */
export function formatCount(value: number): string {
  return count.format(value)
}

/** Bytes in the unit that suits them. */
export function formatBytes(bytes: number): string {
  const unit = [['GB', 1e9], ['MB', 1e6], ['kB', 1e3]].find(([, size]) => bytes >= Number(size))
  return unit ? `${(bytes / Number(unit[1])).toFixed(1)} ${unit[0]}` : `${bytes} bytes`
}

function byVersion(counts: Readonly<Record<string, number>>): string {
  const parts = Object.entries(counts).map(([version, n]) => (version === '' ? `${formatCount(n)} without a readable header` : `${formatCount(n)} at ${version}`))
  return parts.length === 0 ? 'none' : parts.join(', ')
}

/** The lines of one resource's status. */
export function describeStatus(status: StorageStatus): string[] {
  const { objects, bytes, encodingVersion, epoch, mode, storedVersions, retiredVersions, rollbackFloor, replicas, proof, quarantined, migration, next } = status
  const replicaLines = replicas.map(({ id, program, state, live, decodable }) => `${id} (${program}) ${live ? state : 'has vanished'}, decodes ${decodable.join(', ')}`)
  const fields: [string, string | undefined][] = [
    ['objects', objects === 0 ? '0' : `${formatCount(objects)}${bytes > 0 ? ` (${formatBytes(bytes)})` : ''}: ${byVersion(status.byVersion)}`],
    ['written at', `${encodingVersion} (epoch ${epoch}${mode === 'ReadWrite' ? '' : `, ${mode}`})`],
    ['storedVersions', storedVersions.map(({ version, since, reason }) => `${version} (${reason}${since === undefined ? '' : `, ${since}`})`).join(', ')],
    ['retired', retiredVersions.length === 0 ? undefined : retiredVersions.map(({ version, since }) => `${version} (${since})`).join(', ')],
    ['rollback floor', rollbackFloor],
    ...(replicaLines.length === 0 ? [['replicas', 'none'] as [string, string]] : replicaLines.map((line, i): [string, string] => [i === 0 ? 'replicas' : '', line])),
    ['last proof', proof ? `revision ${formatCount(proof.endRevision)}, ${proof.at}: ${plural(proof.keys, 'object')}, ${byVersion(proof.byVersion)}${proof.current ? '' : ' (the fence has changed since)'}` : 'none'],
    ['quarantine', formatCount(quarantined)],
    ['migration', migration && describeMigration(migration)],
    ['next', next],
  ]
  return [status.resource, ...fields.flatMap(([name, value]) => (value === undefined ? [] : [`  ${name.padEnd(15)} ${value}`]))]
}

/** The lines of all resources, and of the store that they are in. */
export function describeAll(statuses: readonly StorageStatus[]): string[] {
  const [first] = statuses
  if (!first) return ['the store is empty']
  const { engine, revision, compactedRevision, bytes, space } = first.store
  const room = space ? `, ${formatBytes(space.freeBytes)} of ${formatBytes(space.limitBytes)} free` : ''
  // A kube-apiserver does not tell of its store.
  const size = bytes > 0 ? `, history from ${formatCount(compactedRevision)}, ${formatBytes(bytes)}${room}` : ''
  return [`store: ${engine}, revision ${formatCount(revision)}${size}`, ...statuses.flatMap((status) => ['', ...(isPlain(status) ? [describePlain(status)] : describeStatus(status))])]
}

// One version only, and nothing to do: a line is enough.
function isPlain({ versions, storedVersions, quarantined, migration, mode }: StorageStatus): boolean {
  return versions.length === 1 && storedVersions.length === 1 && quarantined === 0 && migration === undefined && mode === 'ReadWrite'
}

function describePlain({ resource, objects, bytes, encodingVersion }: StorageStatus): string {
  return `${resource}: ${plural(objects, 'object')} (${formatBytes(bytes)}) at ${encodingVersion}, its only version`
}

/** How far; there may be more objects than there were at first. */
export function describeDone({ done, total }: Pick<Migration, 'done' | 'total'>): string {
  return `${formatCount(done)} of ${formatCount(Math.max(total, done))}`
}

function describeMigration({ id, target, retiring, phase, reason, message, rateLimit, done, total, owner, failure }: Migration): string {
  const why = failure?.message ?? message ?? reason
  const limit = rateLimit === undefined ? '' : `, at most ${formatCount(rateLimit)}/s`
  return `${id}, ${retiring === undefined ? `to ${target}` : `retires ${retiring}`}: ${phase}${why === undefined ? '' : ` (${why})`}, ${describeDone({ done, total })}${limit}${owner === undefined ? (isAtWork(phase) ? ', and nobody is at work on it' : '') : `, by ${owner}`}`
}

/** Whether somebody should be at work on a migration in this phase. */
export function isAtWork(phase: Migration['phase']): boolean {
  return phase === 'Planned' || phase === 'Running' || phase === 'Verifying' || phase === 'Trimming'
}

/** What is beside the bar of a migration. */
export function describeProgress({ phase, rate, etaSeconds, limitedBy, counters }: Migration): string {
  return [
    phase,
    ...(rate === undefined ? [] : [`${formatCount(rate)}/s`]),
    ...(etaSeconds === undefined ? [] : [`ETA ${formatSeconds(etaSeconds)}`]),
    `${formatCount(counters.conflicts)} conflicts`,
    ...(counters.quarantined > 0 ? [`${formatCount(counters.quarantined)} quarantined`] : []),
    ...(limitedBy === undefined ? [] : [isShort({ limitedBy }) ? 'waiting for room in the store' : `limited by ${limitedBy}`]),
  ].join(', ')
}

/** Whether it holds still because the store has too little room. */
export function isShort({ limitedBy }: Pick<Migration, 'limitedBy'>): boolean {
  return limitedBy === 'LowSpace'
}

function formatSeconds(seconds: number): string {
  return seconds < 90 ? `${Math.ceil(seconds)} s` : `${Math.ceil(seconds / 60)} min`
}

/** The account at the end of a migration. */
export function describeAccount({ counters, target, retiring, proof, phase, reason, message, failure }: Migration, status: StorageStatus): string[] {
  const { seen, rewritten, current, vanished, quarantined } = counters
  const [done, left] = retiring === undefined ? ['rewritten', `already at ${target}`] : [`named ${retiring} and were rewritten`, 'did not']
  const parts = [`${formatCount(rewritten)} ${done}`, `${formatCount(current)} ${left}`, ...(vanished > 0 ? [`${formatCount(vanished)} deleted meanwhile`] : []), '0 conflicts left', `${formatCount(quarantined)} quarantined`]
  const proven = proof ? `proof at revision ${formatCount(proof.endRevision)}` : 'no proof'
  const versions = (retiring === undefined ? status.storedVersions : status.retiredVersions).map(({ version }) => version).join(', ')
  const account = `${plural(seen, 'object')}: ${parts.join(', ')}; ${proven}; ${retiring === undefined ? 'storedVersions' : 'retired'} [${versions}]`
  if (phase === 'Succeeded') return [account]
  const why = failure?.message ?? message ?? reason
  return [account, `the ${retiring === undefined ? 'migration' : 'retirement'} has not succeeded: ${phase}${why === undefined ? '' : ` (${why})`}`, `next: ${status.next}`]
}

/** What a dry run found. */
export function describeDryRun(run: DryRun): string[] {
  const { objects, target, rewritten, current, quarantined, bad, bytesIn, bytesOut, largest, seconds } = run
  return [
    `${plural(objects, 'object')}: ${formatCount(rewritten)} would be rewritten, ${formatCount(current)} already at ${target}, ${formatCount(quarantined)} cannot be used; nothing was written`,
    `now: ${byVersion(run.byVersion)}`,
    `rewriting takes ${formatBytes(bytesIn)} to ${formatBytes(bytesOut)}; until the store compacts it needs room for both${describeRoom(run)}`,
    ...(largest.bytes > 0 ? [`largest: ${largest.key}, ${formatBytes(largest.bytes)}`] : []),
    `reading and converting took ${seconds.toFixed(1)} s`,
    ...bad.map(({ key, class: problem, message }) => `bad: ${key} (${problem}): ${message}`),
  ]
}

// Each object is written with its index entries and the record of how far it is: twice its bytes is never too little for that.
function describeRoom({ bytesOut, room }: DryRun): string {
  if (!room) return ''
  const free = Math.max(0, room.freeBytes - room.reserveBytes)
  const has = `, and has ${formatBytes(free)} for it`
  return free >= 2 * bytesOut ? has : `${has}: it may have to wait for room on the way`
}

/** What a scan found. */
export function describeVerification(resource: string, { proof, bad, complete, digest, bytes, largest }: Verification): string[] {
  const whole = complete === undefined ? 'read while history went away' : complete ? 'all of them were read' : 'the store counts another number'
  return [
    `${resource}: ${plural(proof.keys, 'object')} (${formatBytes(bytes)}, largest ${formatBytes(largest)}): ${byVersion(proof.byVersion)}; ${formatCount(proof.undecodable)} cannot be used; ${whole}; proof at revision ${formatCount(proof.endRevision)}`,
    ...(digest === undefined ? [] : [`digest ${digest}`]),
    ...bad.map(({ key, class: problem, message }) => `bad: ${key} (${problem}): ${message}`),
  ]
}
