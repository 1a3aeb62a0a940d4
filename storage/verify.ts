/**
 * The proof: a scan of all objects of a resource. Its claim: when the fence's revision was F before the scan began and still is, every object with
 * a greater revision was written under that fence, and every other was unchanged during the whole scan and was read by it.
 */
import { Compacted, prefixEnd } from './backend.ts'
import type { Backend, KeyValue } from './backend.ts'
import { createHash, type Hash } from 'node:crypto'
import { openEnvelope } from './envelope.ts'
import { proofKey, type Proof } from './fence-change.ts'
import { fenceKey, parseFence } from './fence-record.ts'
import { examine, undecodableClass } from './object-codec.ts'
import type { ObjectCodec, UndecodableClass } from './object-codec.ts'
import { listQuarantine, quarantineEntry, quarantinePut } from './quarantine.ts'
import type { QuarantineEntry } from './quarantine.ts'
import { nextPageLimit } from './scan-page.ts'

/** Bad objects listed one by one; more are only counted. */
const LISTED = 100

export interface VerifyOptions {
  readonly backend: Backend
  readonly resource: string
  readonly codec: ObjectCodec
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** Also decode each object into every version, compare it with its key and its header, and make the digest. */
  readonly deep?: boolean
  /** Also count the objects that name this version. */
  readonly naming?: string
  readonly signal?: AbortSignal
  readonly onProgress?: (progress: { readonly done: number; readonly total: number }) => void
}

/** What a scan found. */
export interface Verification {
  readonly proof: Proof
  /** The first bad objects in key order; `proof.undecodable` counts them all. */
  readonly bad: readonly QuarantineEntry[]
  /** Whether as many keys were read as the store counts. Undefined when the history went away during the scan, so that it was not one moment that was read. */
  readonly complete?: boolean
  /** Deep only: SHA-256 over all keys and canonical objects, the same whatever version they are stored at. */
  readonly digest?: string
  /** Objects that name the version that was asked for. */
  readonly naming?: number
  readonly bytes: number
  readonly largest: number
}

interface Tally {
  keys: number
  bytes: number
  largest: number
  undecodable: number
  naming: number
  readonly byVersion: Record<string, number>
  readonly bad: QuarantineEntry[]
  readonly digest?: Hash
}

/** Scans all objects; writes nothing. Rejects with the signal's reason when that aborts. */
export async function scanObjects(options: VerifyOptions): Promise<Verification> {
  const { backend, resource, now, deep } = options
  const fence = parseFence(fenceKey(resource), await backend.get(fenceKey(resource)))
  const prefix = `data/${resource}/`
  const tally: Tally = { keys: 0, bytes: 0, largest: 0, undecodable: 0, naming: 0, byVersion: {}, bad: [], ...(deep && { digest: createHash('sha256') }) }
  const { startRevision, endRevision, total } = await scan(options, prefix, tally)
  const { keys, byVersion, undecodable, bad, bytes, largest, digest } = tally
  return {
    proof: { fenceRevision: fence.modRevision, startRevision, endRevision, keys, byVersion, undecodable, at: new Date(now()).toISOString() },
    bad,
    ...(total !== undefined && { complete: total === keys }),
    ...(digest && { digest: digest.digest('hex') }),
    ...(options.naming !== undefined && { naming: tally.naming }),
    bytes,
    largest,
  }
}

async function scan(options: VerifyOptions, prefix: string, tally: Tally): Promise<{ startRevision: number; endRevision: number; total: number | undefined }> {
  const { backend, signal, onProgress } = options
  const end = prefixEnd(prefix)
  const { count, revision: startRevision } = await backend.range({ start: prefix, end, countOnly: true })
  let [start, revision, limit, pinned] = [prefix, startRevision, nextPageLimit(undefined), true]
  for (;;) {
    signal?.throwIfAborted()
    const page = await backend.range({ start, end, limit, revision, uncounted: true }).catch((error: unknown) => {
      if (error instanceof Compacted) return undefined
      throw error
    })
    if (!page) {
      // The proof needs no single moment: it goes on from the same key at a later one.
      revision = await backend.currentRevision()
      pinned = false
      continue
    }
    for (const kv of page.kvs) visit(options, kv, kv.key.slice(prefix.length), tally)
    onProgress?.({ done: tally.keys, total: Math.max(count, tally.keys) })
    const last = page.kvs.at(-1)
    if (!page.more || !last) return { startRevision, endRevision: revision, total: pinned ? count : undefined }
    start = `${last.key}\0`
    limit = nextPageLimit(page.kvs)
  }
}

function visit({ codec, deep, naming, now }: VerifyOptions, kv: KeyValue, key: string, tally: Tally): void {
  tally.keys++
  tally.bytes += kv.value.length
  tally.largest = Math.max(tally.largest, kv.value.length)
  const found = deep || naming !== undefined ? examine(codec, key, kv.value) : examineEnvelope(codec, kv.value)
  if (found) {
    tally.undecodable++
    if (tally.bad.length < LISTED) tally.bad.push(quarantineEntry(key, kv, found.problem, found.message, now()))
    return
  }
  const { version } = openEnvelope(kv.value)
  tally.byVersion[version] = (tally.byVersion[version] ?? 0) + 1
  if (naming !== undefined && codec.names(codec.decode(kv.value), naming)) tally.naming++
  tally.digest?.update(`${key}\n${codec.canonical(codec.decode(kv.value))}\n`)
}

function examineEnvelope(codec: ObjectCodec, value: Uint8Array): { problem: UndecodableClass; message: string } | undefined {
  try {
    const { version } = openEnvelope(value)
    return codec.decodable.includes(version) ? undefined : { problem: 'UnknownVersion', message: `version ${version} is not one of ${codec.decodable.join(', ')}` }
  } catch (error) {
    return { problem: undecodableClass(error), message: error instanceof Error ? error.message : String(error) }
  }
}

/** Scans, puts what is bad into quarantine, and keeps the proof for `trim` and `status`. */
export async function verify(options: VerifyOptions): Promise<Verification> {
  const { backend, resource } = options
  const scanned = await scanObjects(options)
  const known = new Map((await listQuarantine(backend, resource)).map((entry) => [entry.key, entry]))
  // What was seen before has been bad since then.
  const bad = scanned.bad.map((entry) => (known.get(entry.key)?.modRevision === entry.modRevision ? { ...entry, since: known.get(entry.key)!.since } : entry))
  const found = { ...scanned, bad }
  for (const entry of bad) {
    await backend.commit({ compare: [{ key: `data/${resource}/${entry.key}`, modRevision: entry.modRevision }], put: [quarantinePut(resource, entry)] })
  }
  await backend.commit({ compare: [], put: [{ key: proofKey(resource), value: Buffer.from(JSON.stringify({ ...found.proof, digest: found.digest })) }] })
  return found
}

/** The last proof that was kept. */
export async function readProof(backend: Backend, resource: string): Promise<(Proof & { readonly digest?: string }) | undefined> {
  const kv = await backend.get(proofKey(resource))
  return kv && (JSON.parse(Buffer.from(kv.value).toString()) as Proof & { readonly digest?: string })
}
