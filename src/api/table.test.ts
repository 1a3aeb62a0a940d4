import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatAge, formatDuration, parseTime } from './age.ts'
import { compileJsonPath } from './json-path.ts'
import { decodeJson } from './json-parse.ts'
import type { Json, KubeObject } from './object.ts'
import type { PrinterColumn, VersionDefinition } from './resource.ts'
import { columnDefinitions, compileColumns, tableRow } from './table.ts'

const NOW = Date.parse('2026-11-30T12:00:00Z')
const json = (text: string): Json => decodeJson(text).value

test('ages', () => {
  const cases: [number, string][] = [
    [-2, '<invalid>'], [-1.9, '0s'], [-0.5, '0s'], [0, '0s'], [119.9, '119s'], [120, '2m'], [599, '9m59s'], [600, '10m'], [10799, '179m'],
    [10800, '3h'], [11000, '3h3m'], [28800, '8h'], [172799, '47h'], [172800, '2d'], [180000, '2d2h'], [691200, '8d'],
    [730 * 86400 - 1, '729d'], [730 * 86400, '2y'], [800 * 86400, '2y70d'], [8 * 365 * 86400, '8y'],
  ]
  for (const [seconds, text] of cases) assert.equal(formatDuration(seconds), text, String(seconds))
  assert.equal(formatAge('2026-11-30T11:58:00+00:00', NOW), '2m')
  assert.equal(formatAge('2026-11-30T13:00:00+01:00', NOW), '0s')
  assert.equal(formatAge('', NOW), '<unknown>')
  assert.equal(formatAge('0001-01-01T00:00:00Z', NOW), '<unknown>')
  assert.equal(formatAge('yesterday', NOW), '<invalid>')
  assert.equal(formatAge('0100-01-01T00:00:00Z', NOW), '292y')
  assert.equal(formatAge('2020-01-01T00:00:00Z', Date.parse('2026-11-30T00:00:00Z')), '6y335d')
})

test('times', () => {
  assert.deepEqual(parseTime('1970-01-01T00:00:01.5Z'), { seconds: 1, nanos: 500_000_000 })
  assert.deepEqual(parseTime('1969-12-31T23:59:59Z'), { seconds: -1, nanos: 0 })
  assert.deepEqual(parseTime('2024-02-29T00:00:00-01:30'), { seconds: Date.parse('2024-02-29T01:30:00Z') / 1000, nanos: 0 })
  for (const bad of ['2023-02-29T00:00:00Z', '2023-13-01T00:00:00Z', '2023-01-01T24:00:00Z', '2023-01-01T00:00:60Z', '2023-01-01', '2023-01-01 00:00:00Z', '2023-01-01T00:00:00']) {
    assert.equal(parseTime(bad), undefined, bad)
  }
})

test('JSONPath', () => {
  const data = json(`{
    "a": {"b": "x", "c.d": 1, "e-f": true, "n": null}, "l": [1, 2, 3, 4], "deep": {"b": "y", "in": [{"b": "z"}]},
    "conditions": [{"type": "Ready", "status": "True", "n": 1}, {"type": "Done", "status": "False", "n": 2}], "strs": ["p", "q"], "e": []
  }`)
  const cases: [string, string][] = [
    ['.a.b', '["x"]'],
    ['$.a.b', '["x"]'],
    ['.a.c\\.d', '[1]'],
    [".a['c\\.d']", '[1]'],
    [".a['b']", '["x"]'],
    ['.a.e-f', '[true]'],
    ['.a.n', '[null]'],
    ['.a.n.x', '[]'],
    ['.a.b.x', '[]'],
    ['.nope.x', '[]'],
    ['.toString', '[]'],
    ['.l[0]', '[1]'],
    ['.l[-1]', '[4]'],
    ['.l[1:3]', '[2,3]'],
    ['.l[:2]', '[1,2]'],
    ['.l[2:]', '[3,4]'],
    ['.l[-2:]', '[3,4]'],
    ['.l[0:4:2]', '[1,3]'],
    ['.l[*]', '[1,2,3,4]'],
    ['.l[0,2]', '[1,3]'],
    ['.e[*]', '[]'],
    ['.strs[*]', '["p","q"]'],
    ['.deep.*', '["y",[{"b":"z"}]]'],
    ['..b', '["x","y","z"]'],
    ['.deep..b', '["y","z"]'],
    ['.conditions[?(@.type=="Ready")].status', '["True"]'],
    [".conditions[?(@.type=='Done')].status", '["False"]'],
    ['.conditions[?(@.type!="Done")].n', '[1]'],
    ['.conditions[?(@.n>1)].type', '["Done"]'],
    ['.conditions[?(@.n<=1)].type', '["Ready"]'],
    ['.conditions[?(@.nope)].type', '[]'],
    ['.conditions[?(@.n)].type', '["Ready","Done"]'],
    ['.conditions[?(@.type=="No")].status', '[]'],
    ['.conditions[*].type', '["Ready","Done"]'],
  ]
  for (const [path, expected] of cases) assert.deepEqual(compileJsonPath(path)(data), JSON.parse(expected), path)
  for (const path of ['.l[4]', '.l[-5]', '.a[0]', '.a[?(@.x)]', '.conditions[?(@.nope=="x")]', '.conditions[?(@.n=="x")]', '.l[3:1]', '.nope2[?(@.x)].y.z[0]']) {
    const run = () => compileJsonPath(path)(data)
    if (path.startsWith('.nope2')) assert.deepEqual(run(), [])
    else assert.throws(run, { name: 'Error' }, path)
  }
  for (const path of ['.a[', '.a[x]', '.a[?(@.b', 'spec', '.a#[}', '.a[?(@.b=="x)]']) assert.throws(() => compileJsonPath(path), path)
})

const version = (columns?: PrinterColumn[]): VersionDefinition => ({
  name: 'v1', served: true, storage: true, schema: { type: 'object' }, ...(columns ? { additionalPrinterColumns: columns } : {}),
})
const row = (columns: PrinterColumn[], object: string) => tableRow(json(object) as KubeObject, compileColumns(version(columns)), NOW)

test('column definitions', () => {
  const definitions = columnDefinitions(compileColumns(version([
    { name: 'Size', type: 'string', jsonPath: '.spec.size', description: 'How big' },
    { name: 'Ratio', type: 'number', jsonPath: '.spec.ratio', format: 'double', priority: 1 },
  ])))
  assert.equal(definitions[0]?.name, 'Name')
  assert.equal(definitions[0]?.format, 'name')
  assert.deepEqual(definitions.slice(1), [
    { name: 'Size', type: 'string', format: '', description: 'How big', priority: 0 },
    { name: 'Ratio', type: 'number', format: 'double', description: 'Custom resource definition column (in JSONPath format): .spec.ratio', priority: 1 },
  ])
  const standard = columnDefinitions(compileColumns(version()))
  assert.deepEqual(standard.map((column) => [column.name, column.type, column.format]), [['Name', 'string', 'name'], ['Age', 'date', '']])
  assert.match(standard[1]?.description ?? '', /^CreationTimestamp is a timestamp .*\n\nPopulated by the system\..*#metadata$/s)
})

test('cells of each type', () => {
  const cell = (type: PrinterColumn['type'], value: string) => row([{ name: 'X', type, jsonPath: '.spec.x' }], `{"metadata":{"name":"n"},"spec":{"x":${value}}}`)[1]
  const cases: [PrinterColumn['type'], string, unknown][] = [
    ['string', '"a"', 'a'], ['string', '5', '5'], ['string', '1.5', '1.5'], ['string', '1000000.0', '1e+06'], ['string', 'true', 'true'], ['string', 'null', '<no value>'],
    ['string', '{"b":"<","a":[1]}', '{"a":[1],"b":"\\u003c"}'], ['string', '9007199254740993', '9007199254740993'],
    ['integer', '5', 5], ['integer', '-1.9', -1], ['integer', '9007199254740993', 9007199254740993n], ['integer', '"5"', null], ['integer', 'null', null],
    ['integer', '1e300', -9223372036854775808n], ['integer', '2.0', 2],
    ['number', '1.5', 1.5], ['number', '2', 2], ['number', '2.0', 2], ['number', '"x"', null],
    ['boolean', 'true', true], ['boolean', '"true"', null],
    ['date', '"2026-11-30T11:00:00Z"', '60m'], ['date', '""', '<unknown>'], ['date', '"x"', '<invalid>'], ['date', '5', null], ['date', 'null', null],
  ]
  for (const [type, value, expected] of cases) assert.strictEqual(cell(type, value), expected, `${type} ${value}`)
})

test('a row as a kube-apiserver prints it', () => {
  const columns: PrinterColumn[] = [
    { name: 'Size', type: 'string', jsonPath: '.spec.size' },
    { name: 'Replicas', type: 'integer', jsonPath: '.spec.replicas' },
    { name: 'Ratio', type: 'number', jsonPath: '.spec.ratio', priority: 1 },
    { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
    { name: 'On', type: 'boolean', jsonPath: '.spec.enabled' },
    { name: 'When', type: 'date', jsonPath: '.spec.when' },
    { name: 'Tags', type: 'string', jsonPath: '.spec.tags[*]' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ]
  const object = '{"metadata":{"name":"b","creationTimestamp":"2026-11-30T11:59:50Z"},"spec":{"size":"medium","replicas":2,"enabled":true,"when":"2020-01-01T00:00:00Z","tags":["x","y"]}}'
  assert.deepEqual(row(columns, object), ['b', 'medium', 2, null, null, true, '6y335d', 'x', '10s'])
})

test('columns computed in code', () => {
  const object = json('{"metadata":{"name":"n"},"data":{"a":"1"}}') as KubeObject
  const data = { name: 'Data', type: 'integer' as const, cell: (o: KubeObject) => Object.keys(o['data'] as object).length }
  assert.deepEqual(tableRow(object, compileColumns(version(), [data]), NOW), ['n', 1])
  const name = { name: 'Name', type: 'string' as const, format: 'name', priority: 1, cell: (o: KubeObject) => o.metadata.name ?? '' }
  const columns = compileColumns(version(), [data, name])
  assert.deepEqual(tableRow(object, columns, NOW), [1, 'n'])
  assert.deepEqual(columnDefinitions(columns).map((c) => c.priority), [0, 1])
})
