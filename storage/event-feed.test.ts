import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Compacted, Unavailable } from './backend.ts'
import type { WatchEvent } from './backend.ts'
import { openReader } from './backend.suite-fixture.ts'
import { openFeed } from './event-feed.ts'
import type { EventFeed, LogRequest } from './event-feed.ts'

const range = { start: 'a', end: 'b' }
const event = (revision: number, bytes = 10): WatchEvent => ({ type: 'put', key: 'a', value: new Uint8Array(bytes), createRevision: 1, revision })

/** A feed over a log that keeps everything, with the requests that reached the log. */
function feedWithLog(windowBytes: number): { feed: EventFeed; asked: LogRequest[]; publish: (revision: number) => void } {
  const log: WatchEvent[] = []
  const asked: LogRequest[] = []
  const feed = openFeed({
    revision: 1,
    windowBytes,
    async read(request) {
      asked.push(request)
      const events = log.filter(({ revision }) => revision > request.after).slice(0, 2)
      return { events, revision: events.at(-1)?.revision ?? feed.revision }
    },
  })
  const publish = (revision: number): void => {
    log.push(event(revision))
    feed.publish([event(revision)], revision)
  }
  return { feed, asked, publish }
}

const revisions = (events: readonly WatchEvent[]): number[] => events.map(({ revision }) => revision)
const reader = (feed: EventFeed, after: number): ReturnType<typeof openReader> => openReader({ watch: feed.watch } as Parameters<typeof openReader>[0], { ...range, after })

test('a watcher within the window does not ask the log', async () => {
  const { feed, asked, publish } = feedWithLog(1e6)
  for (let revision = 2; revision <= 3000; revision++) publish(revision)
  assert.deepEqual(revisions(await reader(feed, 2990).until(3000)), [2991, 2992, 2993, 2994, 2995, 2996, 2997, 2998, 2999, 3000])
  assert.deepEqual(asked, [])
})

test('a watcher behind the window reads the log until it has caught up', async () => {
  const { feed, asked, publish } = feedWithLog(3 * 270)
  for (let revision = 2; revision <= 10; revision++) publish(revision)
  assert.deepEqual(revisions(await reader(feed, 1).until(10)), [2, 3, 4, 5, 6, 7, 8, 9, 10])
  assert.deepEqual(asked.map(({ after }) => after), [1, 3, 5])
})

test('after a compaction the window has nothing older', async () => {
  const { feed, asked, publish } = feedWithLog(1e6)
  for (let revision = 2; revision <= 10; revision++) publish(revision)
  feed.compact(5)
  await reader(feed, 4).next()
  assert.deepEqual(asked, [])
  await reader(feed, 3).next()
  assert.deepEqual(asked.map(({ after }) => after), [3])
})

test('nothing of a watch stays when it is left, aborted or ended', async () => {
  const { feed } = feedWithLog(1e6)
  const abort = new AbortController()
  const left = reader(feed, 1)
  const aborted = feed.watch({ ...range, after: 1, signal: abort.signal })[Symbol.asyncIterator]()
  const ended = reader(feed, 1)
  await Promise.all([left.next(), aborted.next(), ended.next()])
  const waiting = [left.next(), aborted.next(), ended.next()]
  assert.equal(feed.watchers, 3)
  await left.leave()
  abort.abort()
  await waiting[1]
  assert.equal(feed.watchers, 1)
  feed.end()
  assert.ok((await Promise.all(waiting)).every(({ done }) => done))
  assert.equal(feed.watchers, 0)
  await assert.rejects(reader(feed, 1).next(), Unavailable)
})

test('a failure of the store reaches those who wait, and those who come', async () => {
  const { feed } = feedWithLog(1e6)
  const open = reader(feed, 1)
  await open.next()
  const waiting = open.next()
  feed.end(new Unavailable('the store has failed'))
  await assert.rejects(waiting, { name: 'Unavailable', message: 'the store has failed' })
  await assert.rejects(reader(feed, 1).next(), { name: 'Unavailable', message: 'the store has failed' })
  assert.equal(feed.watchers, 0)
})

test('an error of the log ends the watch with it', async () => {
  const feed = openFeed({ revision: 9, read: () => Promise.reject(new Compacted(5)) })
  await assert.rejects(reader(feed, 1).next(), Compacted)
  assert.equal(feed.watchers, 0)
})
