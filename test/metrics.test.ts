/** `/metrics`, read by a parser that forgives nothing; and the metrics of storage with their types. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { startServer } from './harness.ts'
import { alphaJob, job, jobsPath } from './jobs.ts'

const RESOURCE = 'notebookvalidationjobs.mlops.dev'
const ADMIN = '/apis/admin.mlops.dev/v1alpha1'

interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

interface Family {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly samples: readonly Sample[]
}

const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/

/** The text form as Prometheus' documentation has it: each family in one piece, HELP and TYPE first. */
function parseMetrics(text: string): ReadonlyMap<string, Family> {
  assert.ok(text.endsWith('\n'), 'the last line ends')
  const families = new Map<string, Family & { samples: Sample[] }>()
  let [help, current] = [undefined as [string, string] | undefined, undefined as (Family & { samples: Sample[] }) | undefined]
  const series = new Set<string>()
  for (const line of text.split('\n').slice(0, -1)) {
    if (line === '') continue
    const comment = /^# (HELP|TYPE) (\S+) (.+)$/.exec(line)
    if (comment) {
      const [, word, name, rest] = comment as unknown as [string, string, string, string]
      assert.match(name, NAME)
      assert.ok(!families.has(name), `${name} comes twice`)
      if (word === 'HELP') help = [name, rest]
      else {
        assert.equal(help?.[0], name, `HELP before TYPE of ${name}`)
        assert.ok(['counter', 'gauge', 'histogram'].includes(rest), line)
        current = { name, help: help[1], type: rest as Family['type'], samples: [] }
        families.set(name, current)
      }
      continue
    }
    const sample = parseSample(line)
    const id = JSON.stringify([sample.name, Object.entries(sample.labels).toSorted()])
    assert.ok(!series.has(id), `${line} comes twice`)
    series.add(id)
    assert.ok(current, line)
    const suffixes = current.type === 'histogram' ? ['_bucket', '_sum', '_count'] : ['']
    assert.ok(suffixes.some((suffix) => sample.name === current!.name + suffix), `${line} stands under ${current.name}`)
    assert.ok(current.type === 'gauge' || sample.value >= 0, line)
    current.samples.push(sample)
  }
  for (const family of families.values()) if (family.type === 'histogram') checkBuckets(family)
  return families
}

function parseSample(line: string): Sample {
  const [, name, inside, number] = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/.exec(line) as unknown as [string, string, string | undefined, string]
  const labels: Record<string, string> = {}
  for (let rest = inside ?? ''; rest !== ''; ) {
    const label = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)/.exec(rest)
    assert.ok(label, line)
    assert.ok(!Object.hasOwn(labels, label[1]!), line)
    labels[label[1]!] = label[2]!
    rest = rest.slice(label[0].length)
  }
  assert.match(number, /^(?:[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|Inf)|NaN|Nan)$/, line)
  return { name, labels, value: number === '+Inf' ? Infinity : Number(number) }
}

function checkBuckets({ name, samples }: Family): void {
  const rows = new Map<string, { buckets: [number, number][]; count?: number }>()
  for (const { name: sample, labels: { le, ...labels }, value } of samples) {
    const row = rows.get(JSON.stringify(labels)) ?? { buckets: [] }
    if (sample === `${name}_bucket`) row.buckets.push([le === '+Inf' ? Infinity : Number(le), value])
    if (sample === `${name}_count`) row.count = value
    rows.set(JSON.stringify(labels), row)
  }
  for (const [labels, { buckets, count }] of rows) {
    const values = buckets.toSorted((a, b) => a[0] - b[0])
    assert.deepEqual(values.map(([, value]) => value), values.map(([, value]) => value).toSorted((a, b) => a - b), `${name} ${labels}`)
    assert.deepEqual(values.at(-1), [Infinity, count], `${name} ${labels}`)
  }
}

test('every family has its type and help; a total is a counter, and only a total is', async () => {
  await using server = await startServer()
  for (const name of ['a', 'b']) assert.equal((await server.send('POST', jobsPath('v1alpha1'), { body: alphaJob(name) })).status, 201)
  assert.equal((await server.send('POST', jobsPath('v1'), { body: job('c') })).status, 201)
  assert.equal((await server.send('GET', `${jobsPath('v1')}/none`)).status, 404)
  assert.equal((await server.send('POST', `${ADMIN}/storagemigrations`, { body: { metadata: { name: RESOURCE } } })).status, 201)
  for (let i = 0; i < 100 && (await server.send('GET', `${ADMIN}/storagemigrations/${RESOURCE}`)).body.status.phase !== 'Succeeded'; i++) await sleep(50)
  const read = async () => {
    const { text, headers } = await server.send('GET', '/metrics')
    assert.match(String(headers['content-type']), /^text\/plain; version=0\.0\.4/)
    return parseMetrics(text)
  }
  await read()
  const families = await read()
  for (const { name, type, help } of families.values()) {
    // Names of the runtime's own are prom-client's.
    if (!name.startsWith('nodejs_')) assert.equal(type === 'counter', name.endsWith('_total'), `${name} is a ${type}`)
    assert.ok(help.length > 5, name)
  }
  const expected: Readonly<Record<string, Family['type']>> = {
    storage_objects: 'gauge', stored_version_info: 'gauge', fence_epoch: 'gauge', fenced_writes_total: 'counter', migration_phase: 'gauge', migration_objects_total: 'counter',
    migration_remaining: 'gauge', migration_throttle_seconds_total: 'counter', migration_last_checkpoint_age_seconds: 'gauge', verify_last_success_timestamp_seconds: 'gauge',
    verify_last_revision: 'gauge', undecodable_objects: 'gauge', replica_decodable_info: 'gauge', requests_by_version_total: 'counter', conversion_seconds: 'histogram',
    conversion_errors_total: 'counter', rv_offset: 'gauge', store_quota_ratio: 'gauge',
  }
  for (const [name, type] of Object.entries(expected)) assert.equal(families.get(`mlops_${name}`)?.type, type, name)
  const value = (name: string, labels: Readonly<Record<string, string>> = {}) =>
    families.get(name)?.samples.find((sample) => Object.entries(labels).every(([label, wanted]) => sample.labels[label] === wanted))?.value
  assert.equal(value('mlops_migration_objects_total', { resource: RESOURCE, result: 'current' }), 3)
  assert.equal(value('mlops_fenced_writes_total', { resource: RESOURCE }), 0)
  assert.equal(value('mlops_rv_offset'), 0)
})

test('the parser forgives nothing', () => {
  const head = '# HELP a_total Some help.\n# TYPE a_total counter\n'
  assert.equal(parseMetrics(`${head}a_total{x="\\"\\\\\\n"} 1\n`).get('a_total')?.samples.length, 1)
  for (const text of [
    'a_total 1\n', `${head}a_total 1`, `${head}b 1\n`, `${head}a_total 1\na_total 2\n`, `${head}a_total -1\n`, `${head}a_total{x="\\q"} 1\n`, `${head}a_total{x=1} 1\n`, `${head}a_total one\n`,
    `${head}${head}`, '# TYPE a_total counter\na_total 1\n', '# HELP h Help.\n# TYPE h histogram\nh_bucket{le="1"} 2\nh_bucket{le="+Inf"} 1\nh_sum 1\nh_count 1\n',
  ]) assert.throws(() => parseMetrics(text), text)
})
