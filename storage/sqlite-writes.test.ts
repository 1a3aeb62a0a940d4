import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { OutOfSpace } from './backend.ts'
import { prepareReads } from './sqlite-reads.ts'
import { prepareSweep } from './sqlite-sweep.ts'
import { createTables } from './sqlite-tables.ts'
import { prepareWrites } from './sqlite-writes.ts'
import type { Write } from './sqlite-writes.ts'

const put = (key: string, bytes: number): Write => ({ commit: { compare: [], put: [{ key, value: new Uint8Array(bytes) }] } })
const openTables = (): DatabaseSync => {
  const database = new DatabaseSync(':memory:')
  createTables(database, '', 100)
  return database
}

test('with little room left, the writes that fit are written and the others are refused', () => {
  const database = openTables()
  database.exec('PRAGMA max_page_count = 40')
  const writes = prepareWrites(database)
  const outcomes = writes.run([put('a', 10), put('large', 300_000), put('b', 10)])
  assert.deepEqual(outcomes.map((outcome) => (outcome instanceof OutOfSpace ? 'full' : outcome.revision)), [101, 'full', 102])
  assert.equal(writes.revision, 102)
  assert.equal(writes.get('large'), undefined)
  assert.equal(writes.get('b')?.modRevision, 102)
  database.exec('PRAGMA max_page_count = 1000')
  assert.deepEqual(writes.run([put('large', 300_000)]).map((outcome) => !(outcome instanceof OutOfSpace) && outcome.succeeded), [true])
})

test('each write of a batch sees those before it', () => {
  const writes = prepareWrites(openTables())
  const create = (key: string): Write => ({ commit: { compare: [{ key, modRevision: 0 }], put: [{ key, value: new Uint8Array() }] } })
  const outcomes = writes.run([create('a'), create('a'), create('b')])
  assert.deepEqual(outcomes.map((outcome) => !(outcome instanceof OutOfSpace) && outcome.succeeded && outcome.revision), [101, false, 102])
})

test('the sweep leaves the newest row of each key, and no deletions', () => {
  const database = openTables()
  const writes = prepareWrites(database)
  for (let i = 0; i < 1000; i++) writes.run([put(`${i % 10}`, 1)])
  writes.run([{ commit: { compare: [], delete: ['0', '1'] } }, put('x', 1)])
  const sweep = prepareSweep(database)
  let steps = 1
  while (sweep.step(writes.revision)) steps++
  assert.ok(steps > 2)
  assert.deepEqual(database.prepare('SELECT count(*) AS rows, sum(deleted) AS deletions FROM log').get(), Object.assign(Object.create(null), { rows: 9, deletions: 0 }))
  const range = prepareReads(database).range({ start: '0', end: 'z' }, writes.revision)
  assert.deepEqual(range.next().value, ['2', '3', '4', '5', '6', '7', '8', '9', 'x'].map((key) => writes.get(key)))
})

test('pages of the log are whole revisions, and end at a size', () => {
  const database = openTables()
  const writes = prepareWrites(database)
  for (let i = 0; i < 4; i++) {
    writes.run([{ commit: { compare: [], put: ['a', 'b'].map((key) => ({ key, value: new Uint8Array(400_000) })) } }])
  }
  const { log } = prepareReads(database)
  const first = log({ start: 'a', end: 'z', after: 100 }, writes.revision)
  assert.deepEqual([first.events.map(({ revision }) => revision), first.revision], [[101, 101], 101])
  const nothing = log({ start: 'x', end: 'z', after: 100 }, writes.revision)
  assert.deepEqual(nothing, { events: [], revision: 104 })
})

test('no query reads the whole log, or sorts before it cuts off', () => {
  const database = openTables()
  const seen: string[] = []
  const prepare = database.prepare.bind(database)
  database.prepare = (sql) => {
    if (/^\s*(SELECT|DELETE)/.test(sql)) seen.push(sql)
    return prepare(sql)
  }
  prepareWrites(database)
  prepareReads(database)
  prepareSweep(database)
  for (const sql of seen) {
    const plan = (prepare(`EXPLAIN QUERY PLAN ${sql}`).all() as { detail: string }[]).map(({ detail }) => detail)
    const scans = plan.filter((detail) => /^SCAN (log|l|n|p)\b(?!.*USING (COVERING )?INDEX)/.test(detail) || (/LIMIT/.test(sql) && /TEMP B-TREE/.test(detail)))
    assert.deepEqual(scans, [], sql)
  }
})
