/** The end of a version as an operator goes it: it is not stored any more, taken out of all objects, killed half way, and a release without it reads everything. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { runProduct, startProduct, temporaryDirectory, type Exit, type Product } from '../product.ts'

const LAUNCHER = join(import.meta.dirname, '..', '..', 'src', 'launch.mjs')
const RESOURCE = 'widgets.example.com'
const WIDGETS = 120

const version = (name: string, storage: boolean, spec: object): object => ({
  name, served: true, storage,
  schema: { openAPIV3Schema: { type: 'object', properties: { spec: { type: 'object', properties: { size: { type: 'integer' }, ...spec } } } } },
})
const OLD = version('v1', false, { colour: { type: 'string' } })
const NEW = version('v2', true, { color: { type: 'string' }, replicas: { type: 'integer' } })

function manifest(...versions: object[]): string {
  return JSON.stringify({
    apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition', metadata: { name: RESOURCE },
    spec: {
      group: 'example.com', scope: 'Namespaced', names: { kind: 'Widget', plural: 'widgets', singular: 'widget', listKind: 'WidgetList' }, versions,
      ...(versions.length > 1 && { conversion: { strategy: 'Webhook', webhook: { conversionReviewVersions: ['v1'], clientConfig: { url: 'https://example.com/convert' } } } }),
    },
  })
}

const LENSES = `resource: ${RESOURCE}
lenses:
- older: v1
  newer: v2
  operations:
  - op: rename
    older: spec
    newer: spec
    operations:
    - {op: same, fields: [size]}
    - {op: rename, older: colour, newer: color}
    - {op: newer, fields: [replicas]}
`

const path = (of: string): string => `/apis/example.com/${of}/namespaces/default/widgets`
const done = async (exit: Promise<Exit>, code = 0): Promise<Exit> => {
  const ended = await exit
  assert.equal(ended.code, code, `${ended.stdout}${ended.stderr}`)
  return ended
}

test('a version is retired, killed half way, and forgotten by the next release', async () => {
  using directory = temporaryDirectory('retirement-')
  const [both, only, lenses] = ['both.json', 'only.json', 'lenses.yaml'].map((name) => join(directory.path, name)) as [string, string, string]
  writeFileSync(both, manifest(OLD, NEW))
  writeFileSync(only, manifest(NEW))
  writeFileSync(lenses, LENSES)
  const args = ['--definition', both, '--lenses', lenses]
  const storage = (...words: string[]): Promise<Exit> => runProduct(['storage', ...words, '--resource', RESOURCE, '--data-dir', directory.path, ...args])
  const retirement = async (): Promise<{ phase: string; done: number; retiring: string; next: string }> => {
    const [{ migration, next }] = JSON.parse((await done(storage('status', '-o', 'json'))).stdout) as [{ migration: { phase: string; done: number; retiring: string }; next: string }]
    return { ...migration, next }
  }

  await using product = await startProduct(directory.path, { args })
  await writeWidgets(product)
  // Stored at v1 for a while, as by an older encoding setting, and back at v2.
  await done(storage('migrate', '--to', 'v1', '--accept-rollback'))
  assert.match((await done(storage('retire-version', 'v1'), 4)).stderr, /v1 of widgets\.example\.com may still be stored: migrate first\n$/)
  await done(storage('migrate', '--to', 'v2'))
  assert.match((await done(storage('retire-version', 'v1'), 4)).stderr, /the history of widgets\.example\.com may still have v1: wait some minutes, until the store keeps none from before revision \d+\n$/)
  await product.stop('SIGINT')
  // With nobody to keep history for, the command need not wait for the store to let go of it.

  const killed = spawn(process.execPath, [LAUNCHER, 'storage', 'retire-version', 'v1', '--rate', '40', '--resource', RESOURCE, '--data-dir', directory.path, ...args], { stdio: ['ignore', 'ignore', 'pipe'] })
  for await (const chunk of killed.stderr.setEncoding('utf8') as AsyncIterable<string>) if (chunk.includes(' Running, ')) break
  await sleep(700)
  killed.kill('SIGKILL')
  await once(killed, 'close')
  const half = await retirement()
  assert.deepEqual([half.phase, half.retiring, half.next], ['Running', 'v1', 'A retirement of v1 has not ended: storage retire-version v1 continues it'])
  assert.ok(half.done > 0 && half.done < WIDGETS, `${half.done}`)

  // The way back, and forth again: what is rewritten already stays so.
  await done(storage('migrate', '--abort'))
  const { stdout } = await done(storage('retire-version', 'v1'))
  const [, rewritten, rest] = /^120 objects: (\d+) named v1 and were rewritten, (\d+) did not, 0 conflicts left, 0 quarantined; proof at revision [\d,]+; retired \[v1\]\n$/.exec(stdout) ?? []
  assert.ok(Number(rewritten) > 0 && Number(rest) > 0 && Number(rewritten) + Number(rest) === WIDGETS, stdout)
  assert.match((await done(storage('set-version', 'v1', '--accept-rollback'), 3)).stderr, /v1 of widgets\.example\.com is retired: no object may be stored at it again\n$/)

  await using later = await startProduct(directory.path, { args: ['--definition', only] })
  await readWidgets(later)
})

async function writeWidgets(product: Product): Promise<void> {
  using client = product.connect()
  const send = async (i: number): Promise<void> => {
    const body = { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: `w-${i}` }, spec: { size: i, colour: 'red' } }
    const { status } = await client.send('PATCH', `${path('v1')}/w-${i}?fieldManager=gitops`, { body, headers: { 'content-type': 'application/apply-patch+yaml' } })
    assert.equal(status, 201)
  }
  for (let i = 0; i < WIDGETS; i += 30) await Promise.all(Array.from({ length: 30 }, (_, j) => send(i + j)))
}

async function readWidgets(later: Product): Promise<void> {
  using client = later.connect()
  const { body } = await client.send('GET', path('v2'))
  assert.equal(body.items.length, WIDGETS)
  for (const { spec, metadata } of body.items as { spec: object; metadata: { name: string; generation: number; managedFields: { manager: string; apiVersion: string; fieldsV1: object }[] } }[]) {
    assert.deepEqual(spec, { size: Number(metadata.name.slice(2)), color: 'red' })
    assert.equal(metadata.generation, 1)
    assert.deepEqual(metadata.managedFields.map(({ manager, apiVersion, fieldsV1 }) => [manager, apiVersion, fieldsV1]), [['gitops', 'example.com/v2', { 'f:spec': { 'f:color': {}, 'f:size': {} } }]])
  }
  assert.equal((await client.send('GET', path('v1'))).status, 404)
  // Its owner applies it in the new version: what it leaves out goes.
  const applied = await client.send('PATCH', `${path('v2')}/w-1?fieldManager=gitops`, { body: { apiVersion: 'example.com/v2', kind: 'Widget', metadata: { name: 'w-1' }, spec: { size: 1 } }, headers: { 'content-type': 'application/apply-patch+yaml' } })
  assert.deepEqual([applied.status, applied.body.spec], [200, { size: 1 }])
}
