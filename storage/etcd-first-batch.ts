/**
 * The beginning of a watch. What this process has written shows in the first batch, as the contract has it, though the event may still be
 * on its way from etcd; and a watch from the present revision starts there, though the feed may be a little behind.
 */
import type { WatchBatch, WatchRequest } from './backend.ts'
import type { EventFeed } from './event-feed.ts'

export interface FirstBatches {
  /** The newest revision that this process has written. */
  readonly written: number
  /** This process has written at a revision. */
  expect(revision: number): void
  /** The feed has moved on. */
  advance(): void
  /** The feed has ended. */
  end(): void
  watch(request: WatchRequest): AsyncIterable<WatchBatch>
}

/** Wraps the watches of a feed. */
export function openFirstBatches(feed: EventFeed): FirstBatches {
  let written = 0
  let ended = false
  const waiting = new Set<() => void>()

  /** Resolves when the feed has what is written by now, or when the watch is left. */
  const arrival = (state: { left: boolean; wake: () => void }): Promise<void> => {
    const target = written
    return new Promise((resolve) => {
      const check = (): void => {
        if (feed.revision < target && !state.left && !ended) return
        waiting.delete(check)
        resolve()
      }
      state.wake = check
      waiting.add(check)
      check()
    })
  }
  const advance = (): void => {
    for (const check of waiting) check()
  }
  const watch = (request: WatchRequest): AsyncIterable<WatchBatch> => ({
    [Symbol.asyncIterator]() {
      const inner = feed.watch(request)[Symbol.asyncIterator]()
      const state = { left: false, wake: () => {} }
      const leave = (): void => {
        state.left = true
        state.wake()
      }
      let first: Promise<IteratorResult<WatchBatch>> | undefined
      const begin = async (): Promise<IteratorResult<WatchBatch>> => {
        request.signal?.addEventListener('abort', leave, { once: true })
        if (request.signal?.aborted) leave()
        await arrival(state)
        request.signal?.removeEventListener('abort', leave)
        const result = await inner.next()
        return result.done ? result : { done: false, value: { ...result.value, revision: Math.max(result.value.revision, request.after) } }
      }
      return {
        async next() {
          if (!first) return (first = begin())
          await first
          return inner.next()
        },
        return() {
          leave()
          return inner.return!()
        },
      }
    },
  })
  return {
    get written() {
      return written
    },
    expect: (revision) => {
      written = Math.max(written, revision)
    },
    advance,
    end() {
      ended = true
      advance()
    },
    watch,
  }
}
