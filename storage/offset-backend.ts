/**
 * A store whose revisions are those of its backend and a fixed number more: what a restore makes, so that revisions go on from those of the store that
 * the bundle was taken from. Whoever uses it sees one row of revisions; those at or below the offset are compacted ones.
 */
import { Compacted, FutureRevision } from './backend.ts'
import type { Backend, Compare, KeyValue, WatchBatch, WatchEvent } from './backend.ts'

/** Adds the offset to every revision of a backend; the same backend for 0. Closing it closes the backend. */
export function withOffset(backend: Backend, offset: number): Backend {
  return offset === 0 ? backend : createBackend(backend, offset)
}

function createBackend(inner: Backend, offset: number): Backend {
  const kv = (found: KeyValue): KeyValue => ({ ...found, modRevision: found.modRevision + offset, createRevision: found.createRevision + offset })
  const current = (values: ReadonlyMap<string, KeyValue | undefined>) => new Map([...values].map(([key, found]) => [key, found && kv(found)]))
  const call = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work
    } catch (error) {
      throw shiftError(error, offset)
    }
  }
  /** What a revision of before is answered with: a closed store says so first. */
  const refuse = async (): Promise<never> => {
    await inner.currentRevision()
    throw new Compacted(offset + 1)
  }
  const backend: Backend = {
    async get(key) {
      const found = await inner.get(key)
      return found && kv(found)
    },
    async range(request) {
      const { revision } = request
      if (revision !== undefined && revision <= offset) return refuse()
      const result = await call(inner.range({ ...request, ...(revision !== undefined && { revision: revision - offset }) }))
      return { ...result, kvs: result.kvs.map(kv), revision: result.revision + offset }
    },
    async commit(request) {
      const result = await inner.commit({ ...request, compare: request.compare.map((compare) => innerCompare(compare, offset)) })
      const revision = result.revision + offset
      return result.succeeded ? { succeeded: true, revision } : { succeeded: false, revision, current: current(result.current) }
    },
    watch: (request) => ({
      [Symbol.asyncIterator]() {
        const { after } = request
        if (after < offset) return { next: refuse }
        const batches = inner.watch({ ...request, after: after - offset })[Symbol.asyncIterator]()
        return {
          async next() {
            const item = await call(batches.next())
            return item.done ? item : { done: false, value: shiftBatch(item.value, kv, offset) }
          },
          return: async () => (await batches.return?.()) ?? { done: true, value: undefined },
        }
      },
    }),
    currentRevision: async () => (await inner.currentRevision()) + offset,
    lease: (ttlSeconds) => inner.lease(ttlSeconds),
    compact: async (revision) => (revision > offset ? await call(inner.compact(revision - offset)) : void (await inner.currentRevision())),
    async status() {
      const status = await inner.status()
      return { ...status, offset, revision: status.revision + offset, compactedRevision: Math.max(status.compactedRevision, 1) + offset }
    },
    close: () => inner.close(),
    [Symbol.asyncDispose]: () => inner.close(),
  }
  return backend
}

/** 0 stays: the key is absent. What no key can have here becomes what no key can have there. */
function innerCompare(compare: Compare, offset: number): Compare {
  if ('modRevisionBelow' in compare) return { ...compare, modRevisionBelow: Math.max(1, compare.modRevisionBelow - offset) }
  if (compare.modRevision === 0) return compare
  return { ...compare, modRevision: compare.modRevision > offset ? compare.modRevision - offset : Number.MAX_SAFE_INTEGER }
}

function shiftBatch({ events, revision }: WatchBatch, kv: (found: KeyValue) => KeyValue, offset: number): WatchBatch {
  const shift = (event: WatchEvent): WatchEvent => ({
    ...event, revision: event.revision + offset, createRevision: event.createRevision + offset, ...(event.previous && { previous: kv(event.previous) }),
  })
  return { events: events.map(shift), revision: revision + offset }
}

function shiftError(error: unknown, offset: number): unknown {
  if (error instanceof Compacted) return new Compacted(error.compactedRevision + offset)
  if (error instanceof FutureRevision) return new FutureRevision(error.currentRevision + offset)
  return error
}
