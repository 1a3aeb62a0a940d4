/** Holds what a watcher was shown against the log. */
import assert from 'node:assert/strict'
import { isDeepStrictEqual } from 'node:util'
import { eventsAfter, keyOf, revisionOf, stateAt, type Fact, type Filter, type ShownEvent, type Thing } from './history-log.ts'
import { isEndOfInitial, type Segment, type Watcher } from './history-watcher.ts'

/** Fails with the first thing that is not as the log says. Returns how many events were shown. */
export function checkWatcher(facts: readonly Fact[], { filter, bookmarks, segments }: Watcher): number {
  let count = 0
  for (const [i, segment] of segments.entries()) {
    assert.equal(segment.refused, undefined)
    const complete = i === segments.length - 1 && !segment.ended
    checkSegment(facts, segment, filter, complete)
    if (!bookmarks) assert.ok(segment.events.every(({ type }) => type !== 'BOOKMARK'), 'a bookmark that nobody has asked for')
    count += segment.events.length
  }
  return count
}

function checkSegment(facts: readonly Fact[], segment: Segment, filter: Filter, complete: boolean): void {
  const { start, events } = segment
  if (start.kind === 'after') return checkEvents(facts, events, start.revision, filter, complete)
  if (start.kind === 'initial') return checkInitial(facts, segment, filter, complete)
  // Nothing marks the end of what there was, so any revision that explains all of it will do.
  const oldest = start.kind === 'newest' ? segment.acknowledged : 0
  const revisions = [oldest, ...facts.map(({ revision }) => revision).filter((revision) => revision > oldest)]
  if (!complete && events.length === 0) return
  const explained = revisions.some((revision) => {
    const state = stateAt(facts, revision, filter)
    const first = events.filter(({ type }) => type !== 'BOOKMARK').slice(0, state.size)
    if (first.length < state.size && complete) return false
    if (!isPartOf(first, state)) return false
    const rest = first.length === 0 ? events : events.slice(events.indexOf(first.at(-1) as ShownEvent) + 1)
    return isExplained(() => checkEvents(facts, rest, revision, filter, complete))
  })
  assert.ok(explained, `no revision explains ${JSON.stringify(events.map(({ type, object }) => [type, keyOf(object), revisionOf(object)]))}`)
}

function isExplained(check: () => void): boolean {
  try {
    check()
    return true
  } catch {
    return false
  }
}

/** Each of the events is the addition of another object of the state. */
function isPartOf(events: readonly ShownEvent[], state: ReadonlyMap<string, Thing>): boolean {
  const keys = new Set(events.map(({ object }) => keyOf(object)))
  return keys.size === events.length && events.every(({ type, object }) => type === 'ADDED' && isDeepStrictEqual(object, state.get(keyOf(object))))
}

function checkInitial(facts: readonly Fact[], { acknowledged, events, start }: Segment, filter: Filter, complete: boolean): void {
  const end = events.findIndex(isEndOfInitial)
  if (end < 0) return assert.ok(!complete, 'the initial events have no end')
  const revision = revisionOf((events[end] as ShownEvent).object)
  if (start.kind === 'initial' && !start.query.includes('resourceVersion=0')) assert.ok(revision >= acknowledged, `initial events at ${revision}, when ${acknowledged} was acknowledged`)
  const shown = events.slice(0, end).map(({ type, object }) => [keyOf(object), { type, object }] as const)
  const expected = [...stateAt(facts, revision, filter)].map(([key, object]) => [key, { type: 'ADDED', object }] as const)
  const byKey = (a: readonly [string, unknown], b: readonly [string, unknown]): number => (a[0] < b[0] ? -1 : 1)
  assert.deepEqual(shown.toSorted(byKey), expected.toSorted(byKey))
  checkEvents(facts, events.slice(end + 1), revision, filter, complete)
}

function checkEvents(facts: readonly Fact[], events: readonly ShownEvent[], after: number, filter: Filter, complete: boolean): void {
  const expected = eventsAfter(facts, after, filter)
  let shown = 0
  for (const { type, object } of events) {
    if (type === 'BOOKMARK') checkBookmark(object, shown, expected)
    else {
      const { revision: _, ...event } = expected[shown++] ?? assert.fail(`${type} ${keyOf(object)} at ${revisionOf(object)} is one too many`)
      assert.deepEqual({ type, object }, event)
    }
  }
  if (complete) assert.equal(shown, expected.length, `${expected.length - shown} events were not shown`)
}

function checkBookmark(object: Thing, shown: number, expected: readonly { readonly revision: number }[]): void {
  const revision = revisionOf(object)
  assert.equal(shown, expected.filter((event) => event.revision <= revision).length, `bookmark ${revision} after ${shown} events`)
  assert.deepEqual(Object.keys(object).sort(), ['apiVersion', 'kind', 'metadata', ...(object.spec === undefined ? [] : ['spec'])])
}
