/**
 * The store's one watch of etcd: everything under the prefix, in order, each event once, whatever happens to connections and members.
 * A stream goes on after the last event of the last complete answer, never after the revision in an answer's header: that is the
 * store's current one even while old events are still to come.
 */
import type { IEvent, IWatchResponse } from 'etcd3'
import type { Clock, Timer } from '../src/base/clock.ts'
import type { Log } from '../src/base/log.ts'
import { Compacted, Unavailable } from './backend.ts'
import type { WatchBatch, WatchEvent } from './backend.ts'
import { backoffMs } from './etcd-exchange.ts'
import { failureKind, isRpcFailure } from './etcd-failure.ts'
import { toRevision } from './etcd-keyspace.ts'
import type { Keyspace } from './etcd-keyspace.ts'
import { toWatchEvent } from './etcd-messages.ts'
import { WatchStalled } from './etcd-transport.ts'
import type { EtcdTransport } from './etcd-transport.ts'

/** What a watch of etcd needs. */
export interface WatchSource {
  readonly transport: Pick<EtcdTransport, 'watch' | 'range'>
  readonly keyspace: Keyspace
}

/**
 * One stream: the events of the whole prefix after a revision, in batches of whole revisions. An empty batch at `after` comes first, once etcd
 * has taken the watch. Throws Compacted when `after` + 1 is compacted, and whatever breaks the stream. Ends when the signal aborts.
 */
export async function* watchAfter({ transport, keyspace }: WatchSource, after: number, signal: AbortSignal): AsyncGenerator<WatchBatch, void, undefined> {
  const request = { ...keyspace.all, start_revision: after + 1, prev_kv: true, progress_notify: true, fragment: true }
  let last = after
  let fragments: IEvent[] = []
  for await (const response of transport.watch(request, signal)) {
    if (response.canceled) throw cancellation(response)
    const revision = toRevision(response.header.revision)
    if (response.created) {
      if (revision > after) await checkNotCompacted({ transport, keyspace }, after)
      yield { events: [], revision: after }
      continue
    }
    // Without events it is progress, which etcd sends only to a watch that has seen everything.
    fragments.push(...response.events)
    if (response.fragment) continue
    const complete = fragments
    fragments = []
    const upTo = complete.length > 0 ? toRevision(complete.at(-1)!.kv.mod_revision) : revision
    if (upTo <= last) continue
    last = upTo
    yield { events: toEvents(complete, keyspace), revision: upTo }
  }
}

function cancellation({ compact_revision, cancel_reason }: IWatchResponse): Error {
  const compacted = toRevision(compact_revision)
  return compacted > 0 ? new Compacted(compacted + 1) : new Unavailable(`etcd has refused a watch: ${cancel_reason || 'no reason given'}`)
}

/**
 * etcd takes a watch from the very revision that it compacted at, but it may have dropped a deletion that was made there
 * (https://github.com/etcd-io/etcd/issues/19179). So the revision before it must still be there to be read.
 */
async function checkNotCompacted({ transport, keyspace }: WatchSource, after: number): Promise<void> {
  if (after < 1) return
  try {
    await transport.range({ key: keyspace.progressKey, revision: after, count_only: true })
  } catch (err) {
    if (isRpcFailure(err) && failureKind(err) === 'compacted') throw new Compacted(after + 2)
    throw err
  }
}

function toEvents(raw: readonly IEvent[], keyspace: Keyspace): WatchEvent[] {
  return raw.flatMap((event): WatchEvent[] => {
    const key = keyspace.fromKey(event.kv.key)
    if (key === undefined) return []
    const translated = toWatchEvent(key, event)
    // The revision before this one has been compacted while the event was on its way.
    if (!translated) throw new Compacted(toRevision(event.kv.mod_revision) + 1)
    return [translated]
  })
}

export interface FollowOptions extends WatchSource {
  readonly after: number
  readonly clock: Clock
  readonly log: Log
  /** How long an expected revision may take before the stream is given up. */
  readonly stallMs: number
  /** Whole revisions, in order. */
  readonly publish: (batch: WatchBatch) => void
  /** Everything before this revision is gone, unseen; what is published next comes after it. */
  readonly onCompacted: (compactedRevision: number) => void
}

/** A running watch. */
export interface Following {
  /** Something under the prefix was written at this revision: if it does not show in time, the stream is made anew with another member. */
  expect(revision: number): void
  stop(): Promise<void>
}

/** Follows the whole prefix until it is stopped; what fails is logged and tried again. */
export function followAll(options: FollowOptions): Following {
  const { clock, log, stallMs } = options
  const stopped = new AbortController()
  let stream = new AbortController()
  let last = options.after
  let expected = 0
  let timer: Timer | undefined

  const check = (target: number, before: number): void => {
    timer = undefined
    if (last === before) stream.abort(new WatchStalled(`a watch has not seen revision ${target} in ${stallMs} ms`))
    if (last < expected) expect(expected)
  }
  const expect = (revision: number): void => {
    expected = Math.max(expected, revision)
    if (last < expected && !stopped.signal.aborted) {
      const before = last
      timer ??= clock.schedule(stallMs, () => check(revision, before))
    }
  }
  const followOnce = async (progressed: () => void): Promise<void> => {
    stream = new AbortController()
    const signal = AbortSignal.any([stopped.signal, stream.signal])
    for await (const batch of watchAfter(options, last, signal)) {
      if (stopped.signal.aborted) return
      progressed()
      if (batch.revision <= last) continue
      last = batch.revision
      options.publish(batch)
    }
    if (!stopped.signal.aborted) throw stream.signal.reason
  }
  const run = async (): Promise<void> => {
    for (let failures = 0; !stopped.signal.aborted; ) {
      try {
        await followOnce(() => (failures = 0))
      } catch (err) {
        if (stopped.signal.aborted) return
        log.warn('the watch of etcd broke, going on after the last revision seen', { revision: last, failures, err })
        if (err instanceof Compacted) {
          last = Math.max(last, err.compactedRevision - 1)
          options.onCompacted(err.compactedRevision)
        }
        await clock.sleep(backoffMs(failures++, clock), stopped.signal).catch(() => {})
      }
    }
  }
  const running = run()
  return {
    expect,
    async stop() {
      timer?.cancel()
      stopped.abort()
      await running
    },
  }
}
