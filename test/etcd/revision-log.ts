/** What was written, and whether a watch told exactly that. */
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { Compacted, UnknownOutcome } from '../../storage/backend.ts'
import type { Backend, WatchEvent } from '../../storage/backend.ts'

/** One line per event: revision, type, key, value, and the value before. */
export const shownEvents = (events: readonly WatchEvent[]): string[] =>
  events.map(({ type, key, revision, value, previous }) => `${revision} ${type} ${key} ${value ? Buffer.from(value).toString() : '-'} after ${previous ? Buffer.from(previous.value).toString() : '-'}`)

export interface Writers extends AsyncDisposable {
  /** Revision → what was written, as `shownEvents` shows it. Only what was acknowledged. */
  readonly log: Map<number, string>
  /** Commits whose outcome is not known. */
  readonly unknown: string[]
  stop(): Promise<void>
}

/** Starts writers that create, update and delete ten keys each, through any of the backends, as fast as `pauseMs` allows. */
export function startWriters(backends: readonly Backend[], { prefix, count, pauseMs }: { prefix: string; count: number; pauseMs: number }): Writers {
  const log = new Map<number, string>()
  const unknown: string[] = []
  let stopped = false
  const write = async (writer: number): Promise<void> => {
    const held = new Map<string, { value: string; modRevision: number } | undefined>()
    for (let i = 0; !stopped; i++) {
      const key = `${prefix}${writer}/${i % 10}`
      const backend = backends[(writer + i) % backends.length]!
      const before = held.get(key)
      const value = before && i % 3 === 0 ? undefined : `${writer}-${i}`
      try {
        const request = { compare: [{ key, modRevision: before?.modRevision ?? 0 }], ...(value === undefined ? { delete: [key] } : { put: [{ key, value: Buffer.from(value) }] }) }
        const result = await backend.commit(request)
        if (result.succeeded) {
          log.set(result.revision, `${result.revision} ${value === undefined ? 'delete' : 'put'} ${key} ${value ?? '-'} after ${before?.value ?? '-'}`)
          held.set(key, value === undefined ? undefined : { value, modRevision: result.revision })
        } else {
          // An earlier commit of unknown outcome came through.
          const now = result.current.get(key)
          held.set(key, now && { value: Buffer.from(now.value).toString(), modRevision: now.modRevision })
        }
      } catch (err) {
        if (err instanceof UnknownOutcome) unknown.push(`${key} ${value}`)
        await sleep(20)
      }
      await sleep(pauseMs)
    }
  }
  const running = Promise.all(Array.from({ length: count }, (_, writer) => write(writer)))
  const stop = async (): Promise<void> => {
    stopped = true
    await running
  }
  return { log, unknown, stop, [Symbol.asyncDispose]: stop }
}

export interface Collector extends AsyncDisposable {
  readonly events: WatchEvent[]
  readonly revision: number
  /** How often history was gone; the events of a gap are missing. */
  readonly gaps: { readonly after: number; readonly compacted: number }[]
  /** Resolves when everything up to a revision has been seen. */
  until(revision: number): Promise<void>
}

/** Collects a watch of a prefix from a revision on, going on after a compaction where history begins. */
export function collect(backend: Backend, { start, end, after }: { start: string; end: string; after: number }): Collector {
  const { signal, abort } = openAbort()
  let failure: unknown
  const collector = {
    events: [] as WatchEvent[],
    revision: after,
    gaps: [] as { after: number; compacted: number }[],
    async until(revision: number) {
      for (let i = 0; collector.revision < revision; i++) {
        if (failure !== undefined) throw failure
        assert.ok(i < 3000, `revision ${revision} does not arrive, the watch is at ${collector.revision}`)
        await sleep(10)
      }
    },
    async [Symbol.asyncDispose]() {
      abort()
      await running
    },
  }
  const run = async (): Promise<void> => {
    while (!signal.aborted) {
      try {
        for await (const batch of backend.watch({ start, end, after: collector.revision, signal })) {
          for (const event of batch.events) {
            assert.ok(event.revision > collector.revision, `event ${event.revision} after progress ${collector.revision}`)
            collector.events.push(event)
          }
          collector.revision = Math.max(collector.revision, batch.revision)
        }
        return
      } catch (err) {
        if (!(err instanceof Compacted)) throw err
        collector.gaps.push({ after: collector.revision, compacted: err.compactedRevision })
        collector.revision = err.compactedRevision - 1
      }
    }
  }
  const running = run().catch((err: unknown) => {
    failure = err
  })
  return collector
}

function openAbort(): { signal: AbortSignal; abort: () => void } {
  const controller = new AbortController()
  return { signal: controller.signal, abort: () => controller.abort() }
}

/** Everything acknowledged was told, in order, once; nothing else was, except for commits whose outcome nobody knew. */
export function assertSameHistory(events: readonly WatchEvent[], { log, unknown }: Writers): void {
  const told = shownEvents(events)
  assert.deepEqual(told.map((line) => Number(line.split(' ')[0])), events.map((event) => event.revision).toSorted((a, b) => a - b))
  assert.equal(new Set(told).size, told.length, 'an event came twice')
  const acknowledged = [...log].sort(([a], [b]) => a - b).map(([, line]) => line)
  const extra = told.filter((line) => !log.has(Number(line.split(' ')[0])))
  assert.deepEqual(told.filter((line) => log.has(Number(line.split(' ')[0]))), acknowledged)
  assert.ok(extra.length <= unknown.length, `${extra.length} events that nobody wrote`)
}
