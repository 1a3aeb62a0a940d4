/** What a migration would do; writes nothing. */
import { prefixEnd } from './backend.ts'
import type { Backend, BackendStatus } from './backend.ts'
import { fenceKey, parseFence, storedVersionNames } from './fence-record.ts'
import { peekVersion } from './envelope.ts'
import { reencode } from './object-codec.ts'
import type { ObjectCodec } from './object-codec.ts'
import { quarantineEntry } from './quarantine.ts'
import type { QuarantineEntry } from './quarantine.ts'
import { readPages } from './scan-page.ts'

/** Bad objects listed one by one. */
const LISTED = 100

export interface DryRun {
  readonly target: string
  readonly storedVersions: readonly string[]
  readonly objects: number
  /** Objects by the version in their header; "" for bytes without one. */
  readonly byVersion: Readonly<Record<string, number>>
  readonly rewritten: number
  readonly current: number
  /** Objects that would block the migration; `bad` has the first of them. */
  readonly quarantined: number
  readonly bad: readonly QuarantineEntry[]
  /** Bytes of the objects to rewrite, before and after: the store needs room for the second beside the first until it compacts. */
  readonly bytesIn: number
  readonly bytesOut: number
  /** The store's room, where it can tell: see `BackendStatus`. */
  readonly room?: NonNullable<BackendStatus['space']>
  /** Key and bytes of the largest object after it. */
  readonly largest: { readonly key: string; readonly bytes: number }
  /** Seconds that reading and converting took; the migration takes longer by its writes. */
  readonly seconds: number
}

type Tally = { -readonly [K in keyof DryRun]: DryRun[K] } & { byVersion: Record<string, number>; bad: QuarantineEntry[] }

/** Reads and converts every object as `migrate` would, to `target` (default: the encoding version), and reports. */
export async function dryRun(options: {
  readonly backend: Backend
  readonly resource: string
  readonly codec: ObjectCodec
  readonly target?: string
  readonly clock: { now(): number; monotonic(): number }
  readonly signal?: AbortSignal
  readonly onProgress?: (progress: { readonly done: number; readonly total: number }) => void
}): Promise<DryRun> {
  const { backend, resource, codec, clock, signal, onProgress } = options
  const fence = parseFence(fenceKey(resource), await backend.get(fenceKey(resource)))
  const target = options.target ?? fence.encodingVersion
  const prefix = `data/${resource}/`
  const begun = clock.monotonic()
  const tally: Tally = {
    target, storedVersions: storedVersionNames(fence), objects: 0, byVersion: {}, rewritten: 0, current: 0, quarantined: 0, bad: [],
    bytesIn: 0, bytesOut: 0, largest: { key: '', bytes: 0 }, seconds: 0,
  }
  const { count: total } = await backend.range({ start: prefix, end: prefixEnd(prefix), countOnly: true })
  for await (const page of readPages(backend, prefix)) {
    signal?.throwIfAborted()
    for (const kv of page) {
      const key = kv.key.slice(prefix.length)
      const made = reencode(codec, kv.value, target)
      if ('problem' in made && tally.bad.length < LISTED) tally.bad.push(quarantineEntry(key, kv, made.problem, made.message, clock.now()))
      count(tally, key, kv.value, 'problem' in made ? undefined : made.value)
    }
    onProgress?.({ done: tally.objects, total })
  }
  const { space: room } = await backend.status()
  return { ...tally, ...(room && { room }), seconds: (clock.monotonic() - begun) / 1000 }
}

function count(tally: Tally, key: string, before: Uint8Array, after: Uint8Array | undefined): void {
  const version = versionOf(before)
  tally.objects++
  tally.byVersion[version] = (tally.byVersion[version] ?? 0) + 1
  if (!after) tally.quarantined++
  else if (after === before) tally.current++
  else {
    tally.rewritten++
    tally.bytesIn += before.length
    tally.bytesOut += after.length
  }
  if (after && after.length > tally.largest.bytes) tally.largest = { key, bytes: after.length }
}

function versionOf(value: Uint8Array): string {
  try {
    return peekVersion(value)
  } catch {
    return ''
  }
}
