/** What the parts of the backend suite share. */
import assert from 'node:assert/strict'
import type { Backend, KeyValue, WatchBatch, WatchEvent, WatchRequest } from './backend.ts'

/** A store under test. */
export interface SuiteStore {
  readonly backend: Backend
  /** Lets this much of the store's time pass, for leases: moves its clock, or waits. */
  advance(ms: number): Promise<void>
  /** Closes the store and opens it again on the same data. Absent for a store that keeps nothing. */
  reopen?(): Promise<Backend>
  /** Frees what `open` made, after the backend is closed. */
  dispose?(): Promise<void>
}

/** Opens a store: an empty one, or one in which other tests' keys may be. */
export type OpenStore = () => Promise<SuiteStore>

let prefixes = 0

/** A key prefix of its own, with the range of its keys. */
export function freshRange(): { prefix: string; start: string; end: string } {
  const prefix = `suite/${++prefixes}`
  return { prefix: `${prefix}/`, start: `${prefix}/`, end: `${prefix}0` }
}

/** The bytes of a text. */
export const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

/** The text of a value. */
export const text = (value: Uint8Array | undefined): string | undefined => value && Buffer.from(value).toString()

/** A pair as it reads best in a failed assertion. */
export const shown = (kv: KeyValue | undefined): unknown => kv && { key: kv.key, value: text(kv.value), mod: kv.modRevision, created: kv.createRevision }

/** An event as it reads best in a failed assertion. */
export const shownEvent = (event: WatchEvent): unknown => ({
  type: event.type, key: event.key, revision: event.revision, created: event.createRevision, value: text(event.value), previous: shown(event.previous),
})

/** Writes a key without conditions; the new revision. */
export async function put(backend: Backend, key: string, value: string | Uint8Array, lease?: string): Promise<number> {
  const item = { key, value: typeof value === 'string' ? bytes(value) : value, ...(lease !== undefined && { lease }) }
  const result = await backend.commit({ compare: [], put: [item] })
  assert.ok(result.succeeded)
  return result.revision
}

/** Deletes a key without conditions; the new revision. */
export async function remove(backend: Backend, key: string): Promise<number> {
  const result = await backend.commit({ compare: [], delete: [key] })
  assert.ok(result.succeeded)
  return result.revision
}

/** A watch that is read until some revision is reached. */
export interface WatchReader {
  next(): Promise<IteratorResult<WatchBatch>>
  /** All events read so far, at least those up to the revision. */
  until(revision: number): Promise<readonly WatchEvent[]>
  leave(): Promise<void>
}

/** Starts a watch and checks of each batch that it goes on from the one before. */
export function openReader(backend: Backend, request: WatchRequest): WatchReader {
  const iterator = backend.watch(request)[Symbol.asyncIterator]()
  const events: WatchEvent[] = []
  let progress = request.after
  const next = async (): Promise<IteratorResult<WatchBatch>> => {
    const result = await iterator.next()
    if (result.done) return result
    for (const event of result.value.events) {
      assert.ok(event.revision > progress, `event at ${event.revision} comes after progress ${progress}`)
      assert.ok(event.revision <= result.value.revision)
      assert.ok(event.revision >= (events.at(-1)?.revision ?? 0))
      events.push(event)
    }
    progress = Math.max(progress, result.value.revision)
    return result
  }
  let reached = 0
  return {
    next,
    async until(revision) {
      while (reached < revision) {
        const result = await next()
        assert.ok(!result.done, 'the watch has ended')
        reached = result.value.revision
      }
      return events
    },
    async leave() {
      await iterator.return?.()
    },
  }
}
