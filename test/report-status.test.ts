import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Ajv } from 'ajv'
import fc from 'fast-check'
import type { Json, JsonObject } from '../src/api/object.ts'
import { validateSchema } from '../src/api/validate.ts'
import { schema } from '../src/resources/notebookvalidationjobs/v1.ts'
import { fitCells, isPassed, MAX_CELLS } from '../src/worker/fit-cells.ts'
import type { CellOutcome } from '../src/worker/records.ts'
import { readRecords } from '../src/worker/read-records.ts'
import { buildReport, MAX_CELLS_BYTES } from '../src/worker/report.ts'
import { display, goldenNotebook, raised, recordsOf, result, stream } from '../src/worker/report.fixture.ts'
import type { TestCell } from '../src/worker/report.fixture.ts'
import type { CellReport, Report, ReportSpec } from '../src/worker/report-types.ts'
import { jsonBytes } from '../src/worker/truncate.ts'

const isStatus = new Ajv({ strict: false, allErrors: true })
  .addFormat('int32', { type: 'number', validate: (value) => Number.isInteger(value) && Math.abs(value) < 2 ** 31 })
  .addFormat('int64', { type: 'number', validate: Number.isSafeInteger })
  .addFormat('date-time', true)
  .compile(schema.properties.status)

function assertStatus({ verdict, summary, cells, truncated, runtime }: Report): void {
  const status = { reason: verdict.reason, message: verdict.message, summary, cells, truncated, runtime }
  assert.deepEqual(validateSchema(status, schema.properties.status, { status: true }), [])
  assert.ok(isStatus(status), JSON.stringify(isStatus.errors))
  assert.ok(jsonBytes(status) <= 256 * 1024)
  assert.ok(JSON.stringify(status).isWellFormed())
}

const text = fc.oneof(fc.string(), fc.string({ unit: 'binary' }), fc.constantFrom('0.1 0.2\n', '\u001b[31mx\u001b[0m', '2024-01-01 10:00:00', 'a\rb\r\n', '1%|#| 1/2 [00:01<00:01, 1it/s]'))
const bundle: fc.Arbitrary<JsonObject> = fc.record(
  { 'text/plain': text, 'text/html': fc.array(text, { maxLength: 3 }), 'application/json': fc.jsonValue() as fc.Arbitrary<Json>, 'image/png': fc.base64String() },
  { requiredKeys: [] },
)
const output = fc.oneof(
  fc.tuple(text, fc.constantFrom('stdout', 'stderr')).map(([content, name]) => stream(content, name)),
  bundle.map(result),
  bundle.map(display),
  fc.tuple(text, text).map(([name, value]) => raised(name, value)),
)
const cell: fc.Arbitrary<TestCell> = fc.record({
  source: fc.oneof(text, fc.constantFrom('x', 'y')),
  type: fc.constantFrom('Code', 'Code', 'Markdown', 'Raw'),
  outputs: fc.array(output, { maxLength: 3 }),
})
const notebook = fc.array(cell, { maxLength: 6 }).map((cells) => cells.map((item, i): TestCell => ({ ...item, id: `cell-${i}` })))
const comparison: fc.Arbitrary<NonNullable<ReportSpec['comparison']>> = fc.record({
  mode: fc.constantFrom('Exact', 'Normalized'),
  images: fc.constantFrom('Ignore', 'Exact'),
  cellMatching: fc.constantFrom('Auto', 'Index', 'ID'),
  sourceDrift: fc.constantFrom('Ignore', 'Warn', 'Fail'),
})

test('a notebook matches itself under every option', () => {
  fc.assert(
    fc.property(notebook, comparison, (cells, options) => {
      const report = buildReport({ spec: { golden: {}, comparison: options }, records: recordsOf(cells), golden: goldenNotebook(cells) })
      assert.equal(report.summary.mismatched, 0, JSON.stringify(report))
      assert.equal(report.summary.matched, report.summary.code)
      assert.equal(report.verdict.succeeded, true)
      assertStatus(report)
    }),
  )
})

test('the two sides exchanged, as many cells match and mismatch', () => {
  fc.assert(
    fc.property(notebook, notebook, fc.constantFrom('Index', 'ID'), (a, b, cellMatching) => {
      // Blank cells are told as extra on one side and are not missing on the other: a runner skips them.
      const [left, right] = [a, b].map((cells) => cells.map((item): TestCell => ({ ...item, source: `s${item.source}` })))
      const spec: ReportSpec = { golden: {}, comparison: { mode: 'Exact', cellMatching } }
      const there = buildReport({ spec, records: recordsOf(left!), golden: goldenNotebook(right!) }).summary
      const back = buildReport({ spec, records: recordsOf(right!), golden: goldenNotebook(left!) }).summary
      assert.deepEqual([there.matched, there.mismatched], [back.matched, back.mismatched])
    }),
  )
})

test('counters add up, and a report is always a valid status', () => {
  const outcome = fc.constantFrom<CellOutcome>('Succeeded', 'Failed', 'TimedOut', 'KernelDied', 'Skipped', 'NotRun')
  const record = fc.record({ outcome, error: fc.option(fc.record({ name: text, value: text, traceback: text }), { nil: undefined }), durationMilliseconds: fc.nat() })
  const executed = fc.array(fc.tuple(cell, fc.option(record)).map(([item, ran]): TestCell => ({ ...item, record: ran as TestCell['record'] ?? null })), { maxLength: 6 })
  fc.assert(
    fc.property(executed, notebook, comparison, fc.boolean(), (cells, golden, options, running) => {
      const report = buildReport({ spec: { golden: {}, comparison: options }, records: recordsOf(cells), golden: goldenNotebook(golden), running })
      const { summary } = report
      assert.equal(summary.succeeded + summary.failed + summary.skipped + summary.notRun, summary.code)
      const failures = report.cells.filter((item) => !isPassed(item))
      assert.ok(report.verdict.succeeded === (failures.length === 0) || report.verdict.reason === 'Running')
      for (const item of failures) assert.ok(item.error || item.outcome === 'NotRun', JSON.stringify(item))
      assertStatus(report)
    }),
  )
})

test('no records and no golden notebook make the report fail or break a status', () => {
  const line = fc.oneof(
    fc.json(),
    fc.record({ type: fc.constantFrom('cell', 'end', 'notebook'), index: fc.nat(3), outcome: fc.constantFrom('Succeeded', 'Completed'), outputs: fc.array(fc.oneof(fc.jsonValue(), output)) }).map((value) => JSON.stringify(value)),
    fc.constant(JSON.stringify(recordsOf([{}, {}])[0])),
  )
  const golden = fc.oneof(fc.jsonValue(), fc.record({ nbformat: fc.constant(4), cells: fc.array(fc.record({ cell_type: fc.constant('code'), source: fc.jsonValue(), outputs: fc.jsonValue() })) }))
  fc.assert(
    fc.property(fc.array(line, { maxLength: 8 }), golden, comparison, (lines, value, options) => {
      const { records } = readRecords(lines.join('\n'))
      assertStatus(buildReport({ spec: { golden: {}, comparison: options }, records, golden: value }))
    }),
  )
})

test('cells fit whatever their number and size; what failed stays longest, in order', () => {
  const item = fc.record({ index: fc.nat(100), outcome: fc.constantFrom<CellOutcome>('Succeeded', 'Failed'), text: fc.string({ unit: 'grapheme', maxLength: 300 }) })
  fc.assert(
    fc.property(fc.array(item, { maxLength: 30 }), fc.integer({ min: 2, max: 4000 }), (items, size) => {
      const cells = items.map(({ index, outcome, text: content }): CellReport => {
        return { index, type: 'Code', outcome, output: { text: content, bytes: content.length, truncated: false } }
      })
      const fitted = fitCells(cells, size)
      assert.ok(jsonBytes(fitted.cells) <= size)
      assert.equal(fitted.truncated, jsonBytes(cells) > size)
      const bare = cells.filter((failed) => !isPassed(failed)).map(({ index, type, outcome }) => ({ index, type, outcome }))
      if (jsonBytes(bare) <= size) assert.equal(fitted.cells.filter((failed) => !isPassed(failed)).length, bare.length)
      const order = fitted.cells.map(({ index, outcome }) => `${index} ${outcome}`)
      const all = cells.map(({ index, outcome }) => `${index} ${outcome}`)
      let place = -1
      for (const item of order) assert.ok((place = all.indexOf(item, place + 1)) >= 0)
    }),
  )
})

test('a run of thousands of large cells stays within the size of a status, failures first', () => {
  const cells = Array.from({ length: 3000 }, (_, i): TestCell => {
    const outputs = [stream('x'.repeat(4000))]
    return i % 1500 === 1499 ? { outputs, record: { outcome: 'Failed', error: { name: 'E', value: 'v', traceback: 't'.repeat(9000) } } } : { outputs }
  })
  const report = buildReport({ spec: { results: { maxOutputBytes: 16384 } }, records: recordsOf(cells) })
  assert.equal(report.truncated, true)
  assert.ok(jsonBytes(report.cells) <= MAX_CELLS_BYTES)
  assert.ok(report.cells.length <= MAX_CELLS && report.cells.length > 1500)
  assert.deepEqual(report.cells.filter((item) => item.outcome === 'Failed').map((item) => [item.index, item.output?.bytes]), [[1499, 4000], [2999, 4000]])
  assert.equal(report.summary.total, 3000)
  assertStatus(report)
})

test('a report changes nothing of what it is made of', () => {
  fc.assert(
    fc.property(notebook, notebook, (a, b) => {
      const [records, golden] = [recordsOf(a), goldenNotebook(b)]
      const before = JSON.stringify([records, golden])
      buildReport({ spec: { golden: {} }, records, golden })
      assert.equal(JSON.stringify([records, golden]), before)
    }),
    { numRuns: 30 },
  )
})
