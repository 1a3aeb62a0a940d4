/** Suite: random operations, compared with a model that is nothing but a list of states. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Backend, Compare, KeyValue } from './backend.ts'
import { bytes, freshRange, openReader, shown } from './backend.suite-fixture.ts'
import type { SuiteStore } from './backend.suite-fixture.ts'

type State = ReadonlyMap<string, KeyValue>

interface Operation {
  readonly put: readonly string[]
  readonly delete: readonly string[]
  /** Key → whether the condition is right. */
  readonly compare: readonly (readonly [string, boolean])[]
  /** Whether a condition on the whole range is added, and is right. */
  readonly rangeCompare: boolean | undefined
}

const names = fc.constantFrom('a', 'b', 'c', 'd', 'é', '\u{1f600}', '\uffee')
const operations: fc.Arbitrary<Operation> = fc
  .record({
    keys: fc.uniqueArray(names, { maxLength: 3 }),
    puts: fc.nat(3),
    compare: fc.array(fc.tuple(names, fc.boolean()), { maxLength: 2 }),
    rangeCompare: fc.option(fc.boolean(), { nil: undefined, freq: 6 }),
  })
  .map(({ keys, puts, ...rest }) => ({ put: keys.slice(0, puts), delete: keys.slice(puts), ...rest }))

export function modelTests(store: () => SuiteStore): void {
  test('random commits, reads of every revision, and the watch of all of it', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(operations, { maxLength: 25 }), (run) => checkRun(store().backend, run)),
      { numRuns: 30 },
    )
  })
}

async function checkRun(backend: Backend, run: readonly Operation[]): Promise<void> {
  const { prefix, start, end } = freshRange()
  const first = await backend.currentRevision()
  const states = new Map<number, State>([[first, new Map()]])
  const expectedEvents: string[] = []
  let revision = first
  for (const [i, operation] of run.entries()) {
    const state = states.get(revision)!
    const { compare, right } = conditions(operation, state, prefix, { start, end }, revision)
    const value = bytes(`value ${i}`)
    const result = await backend.commit({ compare, put: operation.put.map((name) => ({ key: prefix + name, value })), delete: operation.delete.map((name) => prefix + name) })
    assert.equal(result.succeeded, right)
    if (!result.succeeded) {
      for (const [key, kv] of result.current) assert.deepEqual(shown(kv), shown(state.get(key)))
      continue
    }
    const deleted = operation.delete.filter((name) => state.has(prefix + name))
    if (operation.put.length + deleted.length === 0) {
      assert.equal(result.revision, revision)
      continue
    }
    assert.ok(result.revision > revision)
    revision = result.revision
    const next = new Map(state)
    for (const name of operation.put) {
      const key = prefix + name
      next.set(key, { key, value, modRevision: revision, createRevision: state.get(key)?.createRevision ?? revision })
    }
    for (const name of deleted) next.delete(prefix + name)
    states.set(revision, next)
    const events = [...operation.put.map((name) => `put ${name}`), ...deleted.map((name) => `delete ${name}`)].toSorted()
    expectedEvents.push(...events.map((event) => `${revision} ${event}`))
  }
  for (const [at, state] of states) await checkState(backend, { start, end }, at, state)
  const reader = openReader(backend, { start, end, after: first })
  const seen = (await reader.until(revision)).map((event) => `${event.revision} ${event.type} ${event.key.slice(prefix.length)}`)
  assert.deepEqual(seen.toSorted(), expectedEvents.toSorted())
  await reader.leave()
}

/** Conditions that hold, or not, as the operation wants them. */
function conditions(operation: Operation, state: State, prefix: string, range: { start: string; end: string }, revision: number): { compare: Compare[]; right: boolean } {
  const compare = operation.compare.map(([name, right]): Compare => {
    const key = prefix + name
    const modRevision = state.get(key)?.modRevision ?? 0
    return { key, modRevision: right ? modRevision : modRevision + 1 }
  })
  let right = operation.compare.every(([, holds]) => holds)
  if (operation.rangeCompare !== undefined) {
    const newest = Math.max(0, ...[...state.values()].map((kv) => kv.modRevision))
    compare.push({ ...range, modRevisionBelow: operation.rangeCompare ? revision + 1 : newest })
    right &&= operation.rangeCompare || newest === 0
  }
  return { compare, right }
}

async function checkState(backend: Backend, range: { start: string; end: string }, revision: number, state: State): Promise<void> {
  const expected = [...state.values()].toSorted((a, b) => Buffer.compare(bytes(a.key), bytes(b.key)))
  const { kvs, count } = await backend.range({ ...range, revision })
  assert.deepEqual(kvs.map(shown), expected.map(shown))
  assert.equal(count, expected.length)
}
