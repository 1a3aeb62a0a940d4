import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../api/object.ts'
import { compareOutputs } from './compare-outputs.ts'
import { resolveOptions } from './comparison-options.ts'
import { display, raised, result, stream } from './report.fixture.ts'
import type { ReportSpec } from './report-types.ts'
import { jsonBytes } from './truncate.ts'

type Comparison = NonNullable<ReportSpec['comparison']>
type Case = [name: string, expected: JsonObject[], actual: JsonObject[], differences: string[], options?: Comparison]

const png = (base64: string): JsonObject => display({ 'image/png': base64, 'text/plain': '<Figure size 640x480 with 1 Axes>' })
const json = (value: JsonObject): JsonObject => result({ 'application/json': value, 'text/plain': '<JSON>' })
const EXACT: Comparison = { mode: 'Exact' }

const CASES: Case[] = [
  ['nothing and nothing', [], [], []],
  ['equal text', [result('42')], [result('42')], []],
  ['another number', [result('42')], [result('43')], ['Number']],
  ['another text', [result('a')], [result('b')], ['Text']],
  ['a list of lines is a text', [stream(['a\n', 'b\n'])], [stream('a\nb\n')], [], EXACT],
  ['chunks of a stream', [stream('a'), stream('b', 'stderr'), stream('c')], [stream('ac'), stream('b', 'stderr')], [], EXACT],
  ['stdout and stderr in another order', [stream('e', 'stderr'), stream('o')], [stream('o'), stream('e', 'stderr')], [], EXACT],
  ['a stream among displays', [stream('a'), result('1'), stream('b')], [result('1'), stream('ab')], [], EXACT],
  ['stdout is not stderr', [stream('a')], [stream('a', 'stderr')], ['MissingOutput', 'ExtraOutput']],
  ['execution counts and metadata', [{ ...result('1'), execution_count: 1 }], [{ ...result('1'), execution_count: 9, metadata: { a: 1 } }], [], EXACT],
  ['tracebacks', [raised('E', 'v')], [{ ...raised('E', 'v'), traceback: ['other'] }], [], EXACT],
  ['another error', [raised('E', 'v')], [raised('E', 'w')], ['Text']],
  ['an error name', [raised('E', 'v')], [raised('F', 'v')], ['Text'], EXACT],
  ['an error for a result', [result('1')], [raised('E', 'v')], ['OutputType']],
  ['a display for a result', [result('1')], [display({ 'text/plain': '1' })], ['OutputType']],
  ['an output less', [result('1'), display({ 'text/plain': '2' })], [result('1')], ['MissingOutput']],
  ['an output more', [], [result('1')], ['ExtraOutput']],
  ['a MIME type less', [result({ 'text/plain': '1', 'text/html': '<b>1</b>' })], [result('1')], ['MissingOutput']],
  ['a MIME type more', [result('1')], [result({ 'text/plain': '1', 'text/html': '<b>1</b>' })], ['ExtraOutput']],
  ['each MIME type by itself', [result({ 'text/plain': '1', 'text/html': 'a' })], [result({ 'text/plain': '2', 'text/html': 'b' })], ['Number', 'Text']],
  ['widget views', [display({ 'application/vnd.jupyter.widget-view+json': { model_id: 'a' } })], [display({ 'application/vnd.jupyter.widget-view+json': { model_id: 'b' } })], [], EXACT],
  ['a number within the tolerance', [result('0.1')], [result('0.1000001')], []],
  ['no tolerance in Exact', [result('0.1')], [result('0.1000001')], ['Text'], EXACT],
  ['a wider tolerance', [result('100')], [result('109')], [], { tolerance: { absolute: '10', relative: '0' } }],
  ['a narrower tolerance', [result('0.1')], [result('0.1000001')], ['Text'], { tolerance: { absolute: '0', relative: '0' } }],
  ['numbers in JSON', [json({ a: [1, { b: 0.5 }] })], [json({ a: [1, { b: 0.5000001 }] })], []],
  ['numbers in JSON, too far', [json({ a: [1, { b: 0.5 }] })], [json({ a: [1, { b: 0.6 }] })], ['Number']],
  ['NaN in JSON', [json({ a: NaN })], [json({ a: NaN })], [], EXACT],
  ['large integers in JSON', [json({ a: 9007199254740993n })], [json({ a: 9007199254740992 })], [], {}],
  ['key order in JSON', [json({ a: 1, b: 2 })], [json({ b: 2, a: 1 })], [], EXACT],
  ['a key less in JSON', [json({ a: 1, b: null })], [json({ a: 1 })], ['Text']],
  ['an item more in JSON', [json({ a: [1] })], [json({ a: [1, 2] })], ['Text']],
  ['__proto__ in JSON', [json(JSON.parse('{"__proto__": 1}') as JsonObject)], [json({})], ['Text']],
  ['text in JSON is normalized', [json({ a: '2024-01-01 10:00:00' })], [json({ a: '2024-01-01 10:00:01' })], []],
  ['timestamps', [stream('2024-01-01 10:00:00 done')], [stream('2025-01-01 10:00:00 done')], []],
  ['timestamps in Exact', [stream('2024-01-01 10:00:00 done')], [stream('2025-01-01 10:00:00 done')], ['Text'], EXACT],
  ['timestamps without the normalizer', [stream('2024-01-01 10:00:00 done')], [stream('2025-01-01 10:00:00 done')], ['Text'], { normalizers: [] }],
  ['addresses', [result('<f at 0x7f0000000000>')], [result('<f at 0x7fffffffffff>')], []],
  ['a progress bar on one side', [stream('x\n')], [stream('x\n'), stream(' 45%|██  | 45/100 [00:01<00:01, 44it/s]\r100%|████| 100/100 [00:02<00:00, 44it/s]\n', 'stderr')], []],
  ['carriage returns are resolved on both sides', [stream('1%\r2%\n')], [stream('2%\n')], [], EXACT],
  ['white space, collapsed', [result('a   b')], [result('a b')], [], { normalizers: ['CollapseWhitespace'] }],
  ['images are not compared', [png('AAAA')], [png('BBBB')], []],
  ['images, exactly', [png('AAAA')], [png('BBBB')], ['Image'], { images: 'Exact' }],
  ['an equal image in other lines', [png('AAAA\nBBBB\n')], [png('AAAABBBB')], [], { images: 'Exact' }],
  ['an image less', [png('AAAA')], [display({ 'text/plain': '<Figure size 640x480 with 1 Axes>' })], ['Image'], { images: 'Exact' }],
  ['an ignored output type', [], [display({ 'text/plain': 'x' })], [], { ignore: { outputTypes: ['display_data'] } }],
  ['ignored streams as a type', [stream('a')], [], [], { ignore: { outputTypes: ['stream'] } }],
  ['an ignored stream', [], [stream('warning', 'stderr')], [], { ignore: { streams: ['stderr'] } }],
  ['the other stream', [], [stream('warning')], ['ExtraOutput'], { ignore: { streams: ['stderr'] } }],
  ['an ignored MIME type', [result({ 'text/plain': '1', 'text/html': 'a' })], [result({ 'text/plain': '1', 'text/html': 'b' })], [], { ignore: { mimeTypes: ['text/html'] } }],
  ['an ignored family', [result({ 'text/plain': '1', 'text/html': 'a' })], [result('2')], [], { ignore: { mimeTypes: ['text/*'] } }],
]

for (const [name, expected, actual, differences, comparison = {}] of CASES) {
  test(`${name}: ${differences.length === 0 ? 'match' : differences.join(', ')}`, () => {
    const found = compareOutputs(expected, actual, resolveOptions({ comparison }))
    assert.deepEqual(found.differences.map(({ kind }) => kind), differences)
  })
}

test('a difference says where, what was expected and what came', () => {
  const [difference] = compareOutputs([stream('a\nb\nloss 0.5\nc')], [result('x'), stream('a\nb\nloss 0.7\nc')], resolveOptions({})).differences
  assert.deepEqual(difference, {
    outputIndex: 1,
    mimeType: 'application/vnd.jupyter.stdout',
    kind: 'Number',
    expected: 'loss 0.5',
    actual: 'loss 0.7',
    diff: '@@ -1 +1 @@\n a\n b\n-loss 0.5\n+loss 0.7\n c',
  })
  const [inJson] = compareOutputs([json({ a: [1, { b: 0.5 }] })], [json({ a: [1, { b: 0.6 }] })], resolveOptions({})).differences
  assert.deepEqual([inJson!.expected, inJson!.actual], ['$.a[1].b: 0.5', '$.a[1].b: 0.6'])
})

test('an image that differs is told though it does not count', () => {
  const found = compareOutputs([png('AAAA')], [png('BBBB')], resolveOptions({}))
  assert.equal(found.notices.length, 1)
  assert.match(found.notices[0]!.expected!, /^sha256:[0-9a-f]{16} \(3 bytes\)$/)
})

test('an integer beyond 2^53 in JSON is told from its neighbour in Exact', () => {
  const found = compareOutputs([json({ a: 9007199254740993n })], [json({ a: 9007199254740995n })], resolveOptions({ comparison: EXACT }))
  assert.equal(found.differences[0]!.expected, '$.a: 9007199254740993')
})

test('at most 50 differences of at most 1 KiB', () => {
  const texts = (text: string): JsonObject[] => Array.from({ length: 60 }, (_, i) => display({ 'text/plain': `${i}\n"${'\\"'.repeat(400)}\n${text.repeat(3000)}\n` }))
  const found = compareOutputs(texts('"\u00e9'), texts('"\u00e8'), resolveOptions({}))
  assert.equal(found.differences.length, 50)
  assert.equal(found.truncated, true)
  for (const difference of found.differences) assert.ok(jsonBytes(difference) <= 1024, `${jsonBytes(difference)}`)
})

test('hostile outputs are survived', () => {
  const deep: JsonObject = {}
  let cursor = deep
  for (let i = 0; i < 5000; i++) cursor = cursor.a = {} as JsonObject
  const hostile: JsonObject[] = [
    {}, { output_type: 7 }, { output_type: 'stream', text: { a: 1 } }, { output_type: 'error', ename: [1] }, { output_type: 'display_data', data: [1] },
    result({ 'image/png': { a: 1n } }), result({ 'text/plain': { b: 1n } }), result({ '__proto__': 'x', 'constructor': 'y' }), json(deep),
  ]
  compareOutputs(hostile, [...hostile].reverse(), resolveOptions({ comparison: { images: 'Exact' } }))
  assert.deepEqual(compareOutputs([json({ ...deep, b: 1 })], [json({ a: {}, b: 1 })], resolveOptions({})).differences.length, 1)
})

test('outputs of megabytes are compared in bounded time', () => {
  const started = performance.now()
  const numbers = Array.from({ length: 200_000 }, (_, i) => `${i}.5`).join(' ')
  assert.equal(compareOutputs([stream(numbers)], [stream(numbers.replace('199999.5', '199999.6'))], resolveOptions({})).differences.length, 0)
  const base64 = 'QUJD'.repeat(1_000_000)
  assert.equal(compareOutputs([png(base64)], [png(`${base64}QUJE`)], resolveOptions({ comparison: { images: 'Exact' } })).differences.length, 1)
  const lines = 'x y z\n'.repeat(500_000)
  assert.equal(compareOutputs([stream(lines)], [stream(`a${lines}`)], resolveOptions({})).differences.length, 1)
  assert.ok(performance.now() - started < 6000)
})
