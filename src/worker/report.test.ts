import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { NotebookValidationJobV1 } from '../resources/notebookvalidationjobs/v1.ts'
import type { EndRecord } from './records.ts'
import { fitCells } from './fit-cells.ts'
import { buildReport } from './report.ts'
import { goldenNotebook, raised, recordsOf, result, stream } from './report.fixture.ts'
import type { TestCell } from './report.fixture.ts'
import type { Report, ReportInput, ReportSpec } from './report-types.ts'

const WITH_GOLDEN: ReportSpec = { golden: { path: 'golden.ipynb' } }
const BOOM = { name: 'ZeroDivisionError', value: 'division by zero', traceback: 'Traceback\nZeroDivisionError: division by zero' }
const FAILED: TestCell = { record: { outcome: 'Failed', error: BOOM } }

function run(cells: TestCell[], spec: ReportSpec = {}, end: Partial<EndRecord> | null = {}, input: Partial<ReportInput> = {}): Report {
  return buildReport({ spec, records: recordsOf(cells, end), ...input })
}

function compared(cells: TestCell[], golden: TestCell[], comparison: ReportSpec['comparison'] = {}): Report {
  return run(cells, { ...WITH_GOLDEN, comparison }, {}, { golden: goldenNotebook(golden) })
}

/** Outcomes of the comparison as one word each; `-` for none. */
function outcomes(report: Report): string {
  return report.cells.map((cell) => cell.comparison?.outcome ?? '-').join(' ')
}

test('a spec of v1 is a spec of the report', () => {
  const spec: ReportSpec = { notebook: { git: { url: 'https://git.example/nb.git' }, path: 'a.ipynb' } } satisfies NotebookValidationJobV1['spec'] as NotebookValidationJobV1['spec']
  assert.ok(spec)
})

test('a whole report', () => {
  const cells: TestCell[] = [
    { type: 'Markdown' },
    { id: 'a', outputs: [stream('\u001b[31mhello\u001b[0m\n')], record: { executionCount: 1, durationMilliseconds: 61_000 } },
    { id: 'b', outputs: [result('43')], record: { executionCount: 2, durationMilliseconds: 11_000 } },
    { id: 'c', source: '', record: { outcome: 'Skipped', durationMilliseconds: 0 } },
  ]
  const report = compared(cells, [{}, { ...cells[1], outputs: [stream('hello\n')] }, { ...cells[2], outputs: [result('42')] }, cells[3]!])
  assert.deepEqual(report, {
    verdict: {
      succeeded: false,
      reason: 'OutputMismatch',
      message: '2 of 3 compared cells differ from the golden notebook: cell 3 (index 2): expected "42", got "43"',
    },
    summary: {
      total: 4, code: 3, succeeded: 2, failed: 0, skipped: 1, notRun: 0, matched: 1, mismatched: 2, ignored: 0,
      durationMilliseconds: 72_000, cells: '2/3', duration: '1m12s',
    },
    cells: [
      {
        index: 0, type: 'Code', outcome: 'NotRun',
        error: { message: 'the cell of the golden notebook is missing in the notebook' }, comparison: { outcome: 'Missing' },
      },
      {
        index: 1, id: 'a', type: 'Code', outcome: 'Succeeded', executionCount: 1, durationMilliseconds: 61_000,
        comparison: { outcome: 'Matched' }, output: { text: 'hello\n', bytes: 6, truncated: false },
      },
      {
        index: 2, id: 'b', type: 'Code', outcome: 'Succeeded', executionCount: 2, durationMilliseconds: 11_000,
        error: { message: 'output differs from the golden notebook: expected "42", got "43"' },
        comparison: { outcome: 'Mismatched', differences: [{ outputIndex: 0, kind: 'Number', mimeType: 'text/plain', expected: '42', actual: '43' }] },
        output: { text: '43', bytes: 2, truncated: false },
      },
      { index: 3, id: 'c', type: 'Code', outcome: 'Skipped', durationMilliseconds: 0 },
    ],
    truncated: false,
    runtime: { kernelName: 'python3', language: 'python', nbformat: '4.5' },
  })
})

type VerdictCase = [name: string, report: () => Report, reason: string, message: string | RegExp]

const VERDICTS: VerdictCase[] = [
  ['all succeeded', () => run([{}, {}]), 'Validated', '2 of 2 code cells succeeded'],
  ['nothing to execute', () => run([{ type: 'Markdown' }]), 'Validated', 'the notebook has no code cells: nothing to execute'],
  ['nothing to execute, refused', () => run([{ type: 'Markdown' }], { execution: { failOn: ['NoCodeCells'] } }), 'NotebookFailed', 'the notebook has no code cells to run'],
  ['a failed cell', () => run([{}, {}, FAILED, { record: null }]), 'NotebookFailed', 'cell 3 (index 2) raised ZeroDivisionError: division by zero; 1 cell did not run'],
  ['two failed cells', () => run([FAILED, FAILED]), 'NotebookFailed', 'cell 1 (index 0) raised ZeroDivisionError: division by zero; 1 more cell failed'],
  ['no error output is needed to fail', () => run([{ outputs: [], record: { outcome: 'Failed' } }]), 'NotebookFailed', /^cell 1 \(index 0\) failed: /],
  ['an error of the reply fails whatever the outcome says', () => run([{ record: { error: BOOM } }]), 'NotebookFailed', /raised/],
  ['an error output without an error of the reply is only text', () => run([{ outputs: [raised('E', 'v')] }]), 'Validated', /1 of 1/],
  ['an expected error', () => run([{ ...FAILED, tags: ['raises-exception'] }]), 'Validated', /1 of 1/],
  ['an expected error by record', () => run([{ record: { error: BOOM, expectsError: true } }]), 'Validated', /1 of 1/],
  ['an allowed error', () => run([FAILED], { execution: { allowedErrorNames: ['ZeroDivisionError'] } }), 'Validated', /1 of 1/],
  ['another allowed error', () => run([FAILED], { execution: { allowedErrorNames: ['ValueError'] } }), 'NotebookFailed', /raised/],
  ['an expected error that does not come', () => run([{ tags: ['raises-exception'] }]), 'ExpectedErrorNotRaised', 'cell 1 (index 0) has the tag raises-exception and did not raise'],
  ['an optional error that does not come', () => run([{ tags: ['raises-exception'] }], { execution: { expectedErrors: 'Optional' } }), 'Validated', /1 of 1/],
  ['a failed cell comes before a silent one', () => run([{ tags: ['raises-exception'] }, FAILED]), 'NotebookFailed', /^cell 2/],
  ['stderr, refused', () => run([{ outputs: [stream('\noh no\n', 'stderr')] }], { execution: { failOn: ['Stderr'] } }), 'NotebookFailed', 'cell 1 (index 0) wrote to stderr: oh no'],
  ['stderr, allowed', () => run([{ outputs: [stream('oh no\n', 'stderr')] }], { execution: { failOn: ['PythonWarnings'] } }), 'Validated', /1 of 1/],
  [
    'a Python warning',
    () => run([{ outputs: [stream('/x/y.py:12: DeprecationWarning: old\n  call()\n', 'stderr')] }], { execution: { failOn: ['PythonWarnings'] } }),
    'NotebookFailed',
    'cell 1 (index 0) issued a Python warning: /x/y.py:12: DeprecationWarning: old',
  ],
  [
    'a timeout',
    () => run([{ record: { outcome: 'TimedOut' } }, { record: null }], { execution: { cellTimeoutSeconds: 30 } }, { outcome: 'CellTimeout', cell: 0 }),
    'CellTimeout',
    'cell 1 (index 0) did not finish within 30 s; 1 cell did not run',
  ],
  ['a timeout in a run called completed', () => run([{ record: { outcome: 'TimedOut' } }]), 'CellTimeout', 'cell 1 (index 0) did not finish in time'],
  ['the deadline in a cell', () => run([{ record: { outcome: 'TimedOut' } }], {}, { outcome: 'DeadlineExceeded', cell: 0 }), 'DeadlineExceeded', /^cell 1 \(index 0\) was still running/],
  ['the deadline between cells', () => run([{}, { record: null }], {}, { outcome: 'DeadlineExceeded', message: 'too late' }), 'DeadlineExceeded', 'too late; 1 cell did not run'],
  [
    'a dead kernel',
    () => run([{}, { record: { outcome: 'KernelDied' } }], {}, { outcome: 'KernelDied', cell: 1, message: 'the kernel died in cell 1 (killed by signal 9)' }),
    'KernelDied',
    'the kernel died in cell 2 (index 1) (killed by signal 9)',
  ],
  ['out of memory', () => run([{ record: { outcome: 'KernelDied' } }], {}, { outcome: 'OutOfMemory', cell: 0 }), 'OutOfMemory', /too much memory/],
  ['no kernel', () => run([{ record: null }], {}, { outcome: 'KernelNotFound', message: 'installed: python3' }), 'KernelNotFound', 'installed: python3'],
  ['a broken notebook', () => buildReport({ spec: {}, records: [{ type: 'end', outcome: 'NotebookInvalid', message: 'not JSON' }] }), 'NotebookInvalid', 'not JSON'],
  ['a broken runner', () => run([{}], {}, { outcome: 'RunnerError', message: 'no nbclient' }), 'RunnerUnavailable', 'the runner failed: no nbclient'],
  ['no records', () => buildReport({ spec: {}, records: [] }), 'ResultsUnavailable', /no end record/],
  ['no end record, though all cells succeeded', () => run([{}], {}, null), 'ResultsUnavailable', /no end record/],
  ['no end record, and why', () => run([{}], {}, null, { failure: { reason: 'Cancelled', message: 'deleted' } }), 'Cancelled', 'deleted'],
  ['an end record counts more than a reason from outside', () => run([{}], {}, {}, { failure: { reason: 'Cancelled', message: 'deleted' } }), 'Validated', /1 of 1/],
  ['no notebook record', () => buildReport({ spec: {}, records: [{ type: 'end', outcome: 'Completed', message: '' }] }), 'ResultsUnavailable', /record of the notebook/],
  ['a cell without a result in a completed run', () => run([{}, { record: null }]), 'ResultsUnavailable', 'the run left no result for cell 2 (index 1)'],
  ['a golden notebook that is missing', () => run([{}], WITH_GOLDEN, {}, { goldenError: { reason: 'GoldenNotFound', message: 'no golden' } }), 'GoldenNotFound', 'no golden'],
  ['a golden notebook that nobody passed', () => run([{}], WITH_GOLDEN), 'GoldenNotFound', /no golden notebook/],
  ['a golden notebook that is none', () => run([{}], WITH_GOLDEN, {}, { golden: { nbformat: 3 } }), 'NotebookInvalid', /^the golden notebook has nbformat 3/],
  ['a failed cell counts more than the golden notebook', () => run([FAILED], WITH_GOLDEN), 'NotebookFailed', /raised/],
  ['a mismatch', () => compared([{ outputs: [result('43')] }, {}, {}, {}], [{ outputs: [result('42')] }, {}, {}, {}]), 'OutputMismatch', '1 of 4 compared cells differs from the golden notebook: cell 1 (index 0): expected "42", got "43"'],
  ['a match', () => compared([{ outputs: [result('42')] }], [{ outputs: [result('42')] }]), 'Validated', '1 of 1 code cells succeeded; 1 compared with the golden notebook matches'],
  ['a missing cell', () => compared([{}], [{}, {}]), 'OutputMismatch', '1 of 2 compared cells differs from the golden notebook: cell 2 (index 1) of the golden notebook is missing in the notebook'],
  ['an extra cell', () => compared([{}, {}], [{}]), 'OutputMismatch', '1 of 2 compared cells differs from the golden notebook: cell 2 (index 1): the golden notebook has no such cell'],
  ['progress', () => run([{}, { record: null }], {}, null, { running: true }), 'Running', '1 of 2 code cells have ended'],
  ['a beginning', () => buildReport({ spec: {}, records: [], running: true }), 'Running', 'the notebook is being opened'],
]

for (const [name, report, reason, message] of VERDICTS) {
  test(`${name}: ${reason}`, () => {
    const { verdict } = report()
    assert.equal(verdict.reason, reason)
    assert.equal(verdict.succeeded, reason === 'Validated')
    if (typeof message === 'string') assert.equal(verdict.message, message)
    else assert.match(verdict.message, message)
  })
}

type ComparisonCase = [name: string, cells: TestCell[], golden: TestCell[], expected: string, comparison?: ReportSpec['comparison']]

const ONE: TestCell = { outputs: [result('1')] }
const TWO: TestCell = { outputs: [result('2')] }

const COMPARISONS: ComparisonCase[] = [
  ['no reference', [ONE], [TWO], '-', { reference: 'None' }],
  ['a failed cell is not compared', [FAILED], [ONE], '-'],
  ['a skipped cell neither', [{ record: { outcome: 'Skipped' } }], [ONE], '-'],
  ['markdown is not compared', [{ type: 'Markdown', source: 'a' }, ONE], [{ type: 'Markdown', source: 'b' }, ONE], 'Matched'],
  ['an ignored tag', [{ ...ONE, tags: ['nbval-ignore-output'] }], [TWO], 'Ignored'],
  ['a marker for it', [{ ...ONE, source: '# NBVAL_IGNORE_OUTPUT\nx' }], [{ ...TWO, source: '# NBVAL_IGNORE_OUTPUT\nx' }], 'Ignored'],
  ['tags of the job instead', [{ ...ONE, tags: ['nbval-ignore-output'] }], [TWO], 'Mismatched', { ignore: { cellTags: ['mine'] } }],
  ['an ignored index', [ONE, ONE], [TWO, TWO], 'Ignored Mismatched', { ignore: { cellIndexes: [0] } }],
  ['an ignored id', [{ ...ONE, id: 'a' }], [{ ...TWO, id: 'a' }], 'Ignored', { ignore: { cellIDs: ['a'] } }],
  ['an ignored missing cell is not told', [ONE], [ONE, { tags: ['nbval-ignore-output'] }], 'Matched'],
  ['an ignored extra cell', [ONE, { tags: ['nbval-ignore-output'] }], [ONE], 'Matched Ignored'],
  ['only tagged cells', [ONE, { ...ONE, tags: ['nbval-check-output'] }], [TWO, TWO], 'Ignored Mismatched', { scope: 'TaggedCells' }],
  ['by place', [ONE, TWO], [TWO, ONE].map((cell, i) => ({ ...cell, source: `${i}` })), 'Mismatched Mismatched', { cellMatching: 'Index' }],
  ['by id', [{ ...ONE, id: 'a' }, { ...TWO, id: 'b' }], [{ ...TWO, id: 'b', source: 'source 1' }, { ...ONE, id: 'a', source: 'source 0' }], 'Matched Matched', { cellMatching: 'ID' }],
  ['by id, without ids', [ONE], [ONE], 'Extra Missing', { cellMatching: 'ID' }],
  ['by source', [{ source: 'new' }, { ...ONE, source: 'a' }], [{ ...ONE, source: 'a' }], 'Extra Matched'],
  ['a parameters cell of papermill in the golden notebook', [ONE], [{ ...TWO, source: 'p', tags: ['injected-parameters'] }, { ...ONE, source: 'source 0' }], 'Matched'],
  ['a blank cell in the golden notebook', [ONE], [ONE, { source: ' \n' }], 'Matched'],
  ['another source, told', [ONE], [{ ...ONE, source: 'other' }], 'Matched', { sourceDrift: 'Warn' }],
  ['another source, refused', [ONE], [{ ...ONE, source: 'other' }], 'Mismatched', { sourceDrift: 'Fail' }],
  ['outputs that were cut never match', [{ ...ONE, record: { outputsTruncated: true } }], [ONE], 'Mismatched'],
]

for (const [name, cells, golden, expected, comparison] of COMPARISONS) {
  test(`${name}: ${expected}`, () => assert.equal(outcomes(compared(cells, golden, comparison)), expected))
}

test('a changed source is a difference only where the job asks for it', () => {
  const kinds = (sourceDrift: 'Ignore' | 'Warn' | 'Fail') => compared([ONE], [{ ...ONE, source: 'other' }], { sourceDrift }).cells[0]?.comparison?.differences
  assert.equal(kinds('Ignore'), undefined)
  assert.deepEqual(kinds('Warn'), [{ kind: 'Source', diff: '@@ -1 +1 @@\n-other\n+source 0' }])
  assert.deepEqual(kinds('Fail'), kinds('Warn'))
  assert.equal(compared([ONE], [{ ...ONE, source: 'other' }], { sourceDrift: 'Fail' }).cells[0]?.error?.message, 'source differs from the golden notebook')
})

test('a warning of a cell matches whatever its process was, and temporary paths are hinted at', () => {
  const message = (expected: string, actual: string, comparison?: ReportSpec['comparison']) =>
    compared([{ outputs: [stream(actual, 'stderr')] }], [{ outputs: [stream(expected, 'stderr')] }], comparison).cells[0]?.error?.message
  const warning = (path: string) => `${path}/1098521482.py:2: UserWarning: old\n  warn("old")\n`
  assert.equal(message(warning('/tmp/ipykernel_4242'), warning('/tmp/ipykernel_77')), undefined)
  const hint = '; only temporary paths differ, which the normalizer TemporaryPaths masks'
  assert.ok(message(warning('/var/folders/a/b/T/ipykernel_1'), warning('/tmp/ipykernel_2'))?.endsWith(hint))
  assert.ok(message('saved /tmp/tmpabc', 'saved /tmp/tmpdef')?.endsWith(hint))
  assert.equal(message('saved /tmp/tmpabc', 'saved /tmp/tmpdef', { normalizers: ['TemporaryPaths'] }), undefined)
  assert.equal(message('saved /tmp/a 1', 'saved /tmp/b 2')?.endsWith(hint), false)
  assert.equal(message('saved /tmp/a', 'saved /tmp/b', { mode: 'Exact' })?.endsWith(hint), false)
})

test('stored outputs are the reference of their own cell', () => {
  const records = recordsOf([ONE, TWO]).map((record) => {
    return record.type === 'notebook' ? { ...record, cells: record.cells.map((cell) => ({ ...cell, storedOutputs: [result('1')] })) } : record
  })
  const report = buildReport({ spec: { comparison: { reference: 'StoredOutputs' } }, records })
  assert.equal(outcomes(report), 'Matched Mismatched')
  assert.equal(report.verdict.message, '1 of 2 compared cells differs from the stored outputs: cell 2 (index 1): expected "1", got "2"')
  assert.equal(report.cells[1]?.error?.message, 'output differs from the stored outputs: expected "1", got "2"')
})

test('while it runs nothing is compared and nothing is guessed', () => {
  const records = [...recordsOf([{}, { record: null }, { record: null }], null), { type: 'cell-start', index: 1 } as const]
  const report = buildReport({ spec: WITH_GOLDEN, records, golden: goldenNotebook([TWO]), running: true })
  assert.deepEqual(report.cells.map((cell) => [cell.outcome, cell.comparison, cell.error]), [
    ['Succeeded', undefined, undefined], ['NotRun', undefined, undefined], ['NotRun', undefined, undefined],
  ])
  assert.equal(report.verdict.message, '1 of 3 code cells have ended; cell 2 (index 1) is running')
})

test('a cell that was running when the run was cut short has the outcome of the end', () => {
  const records = [...recordsOf([{}, { record: null }, { record: null }], null), { type: 'cell-start', index: 1 } as const]
  const cut = (end?: EndRecord, failure?: ReportInput['failure']) =>
    buildReport({ spec: {}, records: end ? [...records, end] : records, ...(failure ? { failure } : {}) }).cells.map((cell) => cell.outcome)
  assert.deepEqual(cut(), ['Succeeded', 'NotRun', 'NotRun'])
  assert.deepEqual(cut({ type: 'end', outcome: 'KernelDied', message: '', cell: 1 }), ['Succeeded', 'KernelDied', 'NotRun'])
  assert.deepEqual(cut({ type: 'end', outcome: 'CellTimeout', message: '' }), ['Succeeded', 'TimedOut', 'NotRun'])
  assert.deepEqual(cut(undefined, { reason: 'OutOfMemory', message: 'killed' }), ['Succeeded', 'KernelDied', 'NotRun'])
  assert.deepEqual(cut(undefined, { reason: 'constructor', message: '' }), ['Succeeded', 'NotRun', 'NotRun'])
})

test('a cell that did not run says why, for readers of v1alpha1', () => {
  const last = (end: Partial<EndRecord> | null, failure?: ReportInput['failure']) =>
    buildReport({ spec: {}, records: recordsOf([{}, { record: null }], end), ...(failure ? { failure } : {}) }).cells.at(-1)
  assert.deepEqual(last({ cell: 0 }), { index: 1, type: 'Code', outcome: 'NotRun', error: { message: 'not run: cell 1 failed before' } })
  const messages = [last({ outcome: 'CellTimeout', cell: 0 }), last({ outcome: 'OutOfMemory', cell: 0 }), last({ outcome: 'DeadlineExceeded' }), last({ outcome: 'KernelStartFailed' }), last(null, { reason: 'RunnerUnavailable', message: 'lost' })]
  assert.deepEqual(messages.map((cell) => cell?.error?.message), [
    'not run: cell 1 took too long',
    'not run: the kernel died before',
    'not run: the deadline of the job came before',
    'not run: the run ended before',
    'not run: the run ended before',
  ])
  assert.equal(fitCells([last({ cell: 0 })!], 60).cells[0]?.error, undefined, 'the text goes first when there is no room')
})

test('outputs are shown as the policy says and cut to size', () => {
  const cells: TestCell[] = [{ outputs: [stream('é'.repeat(10))] }, { ...FAILED, outputs: [stream('why'), raised('E', 'v')] }]
  const output = (results: ReportSpec['results']) => run(cells, { results }).cells.map((cell) => cell.output)
  assert.deepEqual(output({}), [{ text: 'é'.repeat(10), bytes: 20, truncated: false }, { text: 'why\nE: v', bytes: 8, truncated: false }])
  assert.deepEqual(output({ maxOutputBytes: 5 }), [{ text: 'éé', bytes: 20, truncated: true }, { text: 'why\nE', bytes: 8, truncated: true }])
  assert.deepEqual(output({ maxOutputBytes: 0 })[0], { text: '', bytes: 20, truncated: true })
  assert.deepEqual(output({ outputPolicy: 'Failed' })[0], undefined)
  assert.equal(output({ outputPolicy: 'Failed' })[1]?.text, 'why\nE: v')
  assert.deepEqual(output({ outputPolicy: 'None' }), [undefined, undefined])
})

test('a traceback keeps its end, without colours', () => {
  const traceback = `\u001b[31m${'line\n'.repeat(2000)}\u001b[0mValueError: x`
  const [cell] = run([{ record: { outcome: 'Failed', error: { name: 'ValueError', value: '\u001b[1mx', traceback } } }]).cells
  assert.equal(cell?.error?.message, 'ValueError: x')
  assert.equal(cell?.error?.value, 'x')
  assert.equal(cell?.error?.traceback?.length, 4096)
  assert.ok(cell?.error?.traceback?.endsWith('line\nValueError: x'))
})
