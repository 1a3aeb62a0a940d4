import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { effectiveTags, parseNotebook } from './notebook.ts'
import { readRecords } from './read-records.ts'
import { goldenNotebook, recordsOf, result, stream } from './report.fixture.ts'

test('what the runner writes is read as it was written', () => {
  const records = recordsOf([
    { source: 'print(1)', id: 'a', tags: ['t'], outputs: [stream('1\n')], record: { executionCount: 3 } },
    { type: 'Markdown', source: '# title' },
    { record: { outcome: 'Failed', error: { name: 'E', value: 'v', traceback: 't' }, expectsError: true, outputsTruncated: true } },
  ])
  const text = records.map((record) => JSON.stringify(record)).join('\n')
  assert.deepEqual(readRecords(`${text}\n`), { records, malformed: 0 })
})

test('a line that is no record is left out: half of one, another type, fields of the wrong type', () => {
  const lines = [
    '{"type": "cell", "index": 0, "outco',
    'null',
    '[]',
    '{"type": "cell", "index": -1, "outcome": "Succeeded"}',
    '{"type": "cell", "index": 0.5, "outcome": "Succeeded"}',
    '{"type": "cell", "index": 0, "outcome": "Passed"}',
    '{"type": "end", "outcome": "__proto__"}',
    '{"type": "notebook", "cells": [{"index": 1, "type": "Code", "source": ""}]}',
    '{"type": "notebook", "cells": {}}',
    '{"type": "constructor"}',
  ]
  assert.deepEqual(readRecords(lines.join('\n')), { records: [], malformed: lines.length })
  assert.deepEqual(readRecords('{"type": "cell", "index": 0, "outcome": "Succeeded", "durationMilliseconds": "x", "outputs": [1, {"a": NaN}]}').records, [
    { type: 'cell', index: 0, outcome: 'Succeeded', durationMilliseconds: 0, outputs: [{ a: NaN }] },
  ])
})

test('no text makes the reader fail', () => {
  const line = fc.oneof(fc.json(), fc.string(), fc.constantFrom(...recordsOf([{ outputs: [result('1')] }]).map((record) => JSON.stringify(record))))
  fc.assert(fc.property(fc.array(line), (lines) => readRecords(lines.join('\n')).records.length <= lines.join('\n').split('\n').length))
})

test('a notebook is read with its cells in order', () => {
  const parsed = parseNotebook(goldenNotebook([{ source: 'x', id: 'a', tags: ['t'], outputs: [result('1')] }, { type: 'Markdown' }]))
  assert.ok('cells' in parsed)
  assert.deepEqual(parsed.cells, [
    { index: 0, id: 'a', type: 'Code', tags: ['t'], source: 'x', outputs: [result('1')] },
    { index: 1, id: '', type: 'Markdown', tags: [], source: 'source 1', outputs: [] },
  ])
})

test('what is no notebook says why', () => {
  const problem = (value: unknown): string => {
    const parsed = parseNotebook(value)
    return 'problem' in parsed ? parsed.problem : ''
  }
  assert.equal(problem([]), 'is not a JSON object')
  assert.equal(problem({}), 'has no nbformat version')
  assert.equal(problem({ nbformat: 3, worksheets: [] }), 'has nbformat 3; convert it to nbformat 4')
  assert.equal(problem({ nbformat: 4 }), 'has no list of cells')
  assert.equal(problem({ nbformat: 4, cells: [{ cell_type: 'raw' }, { cell_type: 'constructor' }] }), 'has a malformed cell at index 1')
  assert.equal(problem({ nbformat: 4, cells: Array(10_001).fill({}) }), 'has more than 10000 cells')
})

test('no JSON makes the notebook reader fail', () => {
  const cell = fc.record({ cell_type: fc.constantFrom('code', 'markdown', 'x'), source: fc.jsonValue(), metadata: fc.jsonValue(), outputs: fc.jsonValue() })
  fc.assert(fc.property(fc.oneof(fc.jsonValue(), fc.record({ nbformat: fc.constant(4), cells: fc.array(cell) })), (value) => Boolean(parseNotebook(value))))
})

test("nbval's comment markers are tags", () => {
  assert.deepEqual([...effectiveTags({ tags: ['a'], source: '# NBVAL_IGNORE_OUTPUT\nx = 1  # NBVAL_SKIP' })], ['a', 'nbval-ignore-output'])
  assert.deepEqual([...effectiveTags({ tags: [], source: '#NBVAL_CHECK_OUTPUT' })], ['nbval-check-output'])
})
