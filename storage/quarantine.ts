/**
 * Objects that cannot be used: recorded by scans and reads, shown, exported, replaced and deleted by an operator who names the very value that is meant.
 * A record never hides an object: it is still read, and reads still fail.
 */
import { createHash } from 'node:crypto'
import { prefixEnd } from './backend.ts'
import type { Backend, CommitRequest, KeyValue } from './backend.ts'
import { commitOnce } from './commit-once.ts'
import { quarantinePrefix } from './fence-change.ts'
import { fenceKey, parseFence, storedVersionNames } from './fence-record.ts'
import type { FenceRecord } from './fence-record.ts'
import { examine } from './object-codec.ts'
import type { ObjectCodec, UndecodableClass } from './object-codec.ts'
import { Refused } from './refused.ts'

/** Why an object is in quarantine. */
export interface QuarantineEntry {
  /** Relative to the resource's prefix. */
  readonly key: string
  readonly class: UndecodableClass
  readonly message: string
  /** Of the value that is bad. */
  readonly modRevision: number
  readonly sha256: string
  readonly bytes: number
  /** When it was first seen, RFC 3339. */
  readonly since: string
}

/** An entry with the value itself. */
export interface QuarantinedValue extends QuarantineEntry {
  readonly value: Uint8Array
}

/** The value that an operator means: what `quarantine show` printed. */
export interface Expected {
  readonly modRevision: number
  readonly sha256: string
}

/** The hexadecimal SHA-256 of a value. */
export function sha256(value: Uint8Array): string {
  return createHash('sha256').update(value).digest('hex')
}

/** Makes the entry of a value. */
export function quarantineEntry(key: string, kv: KeyValue, problem: UndecodableClass, message: string, now: number): QuarantineEntry {
  return { key, class: problem, message, modRevision: kv.modRevision, sha256: sha256(kv.value), bytes: kv.value.length, since: new Date(now).toISOString() }
}

/** What puts an entry into the store. */
export function quarantinePut(resource: string, entry: QuarantineEntry): { readonly key: string; readonly value: Uint8Array } {
  return { key: quarantinePrefix(resource) + entry.key, value: Buffer.from(JSON.stringify(entry)) }
}

/**
 * Puts the value of a key that a read has met into quarantine, if it cannot be used and is not there already. Not while versions may be stored that this program does
 * not know: then the fault is not the object's. False: there was nothing to record, or something has changed meanwhile.
 */
export async function recordUndecodable(backend: Backend, resource: string, key: string, codec: ObjectCodec, now: number): Promise<boolean> {
  const [dataKey, recordKey] = [`data/${resource}/${key}`, quarantinePrefix(resource) + key]
  const [fenceKv, live, record] = await Promise.all([backend.get(fenceKey(resource)), backend.get(dataKey), backend.get(recordKey)])
  const fence = parseFence(fenceKey(resource), fenceKv)
  if (!live || !storedVersionNames(fence).every((version) => codec.decodable.includes(version))) return false
  if (record && (JSON.parse(Buffer.from(record.value).toString()) as QuarantineEntry).modRevision === live.modRevision) return false
  const found = examine(codec, key, live.value)
  if (!found) return false
  const { succeeded } = await backend.commit({
    compare: [
      { key: dataKey, modRevision: live.modRevision },
      { key: recordKey, modRevision: record?.modRevision ?? 0 },
      { key: fenceKey(resource), modRevision: fence.modRevision },
    ],
    put: [quarantinePut(resource, quarantineEntry(key, live, found.problem, found.message, now))],
  })
  return succeeded
}

/** All entries, in key order. */
export async function listQuarantine(backend: Backend, resource: string): Promise<readonly QuarantineEntry[]> {
  const start = quarantinePrefix(resource)
  const { kvs } = await backend.range({ start, end: prefixEnd(start) })
  return kvs.map((kv) => JSON.parse(Buffer.from(kv.value).toString()) as QuarantineEntry)
}

/** Throws Refused where something is in quarantine, after the entries of values that are there no more are dropped. */
export async function checkEmptyQuarantine(backend: Backend, resource: string): Promise<void> {
  const entries = await refreshQuarantine(backend, resource)
  if (entries.length === 0) return
  const shown = entries.slice(0, 100).map((entry) => `${entry.key} (${entry.class})`)
  const more = entries.length > shown.length ? `, and ${entries.length - shown.length} more` : ''
  throw new Refused('Quarantined', `objects of ${resource} cannot be used: ${shown.join(', ')}${more}; repair them with quarantine replace or delete`)
}

/** Drops the entries whose value was replaced or deleted meanwhile; the entries that remain. */
export async function refreshQuarantine(backend: Backend, resource: string): Promise<readonly QuarantineEntry[]> {
  const prefix = quarantinePrefix(resource)
  const { kvs } = await backend.range({ start: prefix, end: prefixEnd(prefix) })
  const remaining: QuarantineEntry[] = []
  for (const kv of kvs) {
    const entry = JSON.parse(Buffer.from(kv.value).toString()) as QuarantineEntry
    const key = `data/${resource}/${entry.key}`
    const live = await backend.get(key)
    if (live?.modRevision === entry.modRevision) {
      remaining.push(entry)
      continue
    }
    await backend.commit({
      compare: [{ key: kv.key, modRevision: kv.modRevision }, { key, modRevision: live?.modRevision ?? 0 }],
      delete: [kv.key],
    })
  }
  return remaining
}

/** The present value of a key with what is wrong with it, whether it has an entry or not. Throws Refused when it is not there or nothing is wrong. */
export async function showQuarantined(backend: Backend, resource: string, key: string, codec: ObjectCodec, now: number): Promise<QuarantinedValue> {
  const [live, record] = await Promise.all([backend.get(`data/${resource}/${key}`), backend.get(quarantinePrefix(resource) + key)])
  if (!live) throw new Refused('Changed', `${resource} has no object ${key}`)
  const entry = record && (JSON.parse(Buffer.from(record.value).toString()) as QuarantineEntry)
  if (entry?.modRevision === live.modRevision) return { ...entry, value: live.value }
  const found = examine(codec, key, live.value)
  if (!found) throw new Refused('Changed', `${key} of ${resource} can be read: nothing to repair`)
  return { ...quarantineEntry(key, live, found.problem, found.message, now), value: live.value }
}

/**
 * Puts a whole object in the place of a bad value, at the present encoding version. The object's key must be the key. Throws Refused when the value is no longer
 * the one that is meant, or the object would be bad as well.
 */
export async function replaceQuarantined<Hub>(backend: Backend, resource: string, key: string, hub: Hub, expected: Expected, codec: ObjectCodec<Hub>): Promise<number> {
  return repair(backend, resource, key, expected, (fence) => {
    const value = codec.encode(codec.settle(hub, fence), fence.encodingVersion)
    const bad = examine(codec as ObjectCodec, key, value)
    if (bad) throw new Refused('Changed', `the replacement of ${key} cannot be used: ${bad.message} (${bad.problem})`)
    return value
  })
}

/**
 * Deletes a bad value for good: no finalizer is waited for, no grace given. `report` gets the value before it goes and must keep it. Throws Refused when the value is
 * no longer the one that is meant.
 */
export async function deleteQuarantined(
  backend: Backend, resource: string, key: string, expected: Expected, report: (value: Uint8Array) => Promise<void>,
): Promise<number> {
  const live = await backend.get(`data/${resource}/${key}`)
  checkExpected(key, live, expected)
  await report(live!.value)
  return repair(backend, resource, key, expected, () => undefined)
}

async function repair(
  backend: Backend, resource: string, key: string, expected: Expected, make: (fence: FenceRecord) => Uint8Array | undefined,
): Promise<number> {
  const [dataKey, recordKey] = [`data/${resource}/${key}`, quarantinePrefix(resource) + key]
  const [fenceKv, live] = await Promise.all([backend.get(fenceKey(resource)), backend.get(dataKey)])
  const fence = parseFence(fenceKey(resource), fenceKv)
  if (fence.mode !== 'ReadWrite') throw new Refused('Frozen', `${resource} is ${fence.mode}: nothing is written now`)
  checkExpected(key, live, expected)
  const value = make(fence)
  const compare = [{ key: dataKey, modRevision: expected.modRevision }, { key: fenceKey(resource), modRevision: fence.modRevision }]
  const request: CommitRequest = value ? { compare, put: [{ key: dataKey, value }], delete: [recordKey] } : { compare, delete: [dataKey, recordKey] }
  const result = value ? await commitOnce(backend, request, dataKey) : await backend.commit(request)
  if (!result.succeeded) throw new Refused('Changed', `${key} of ${resource} has changed meanwhile: look at it again`)
  return result.revision
}

function checkExpected(key: string, live: KeyValue | undefined, expected: Expected): void {
  if (live?.modRevision !== expected.modRevision || sha256(live.value) !== expected.sha256) {
    throw new Refused('Changed', `${key} is no longer the value at revision ${expected.modRevision} with SHA-256 ${expected.sha256}: look at it again`)
  }
}
