/** Objects that cannot be decoded: every read says so, and the first one makes them appear in quarantine. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { silentLog } from '../src/base/log.ts'
import { systemClock } from '../src/base/clock.ts'
import type { Backend } from '../storage/backend.ts'
import { encodeFence, fenceKey, parseFence } from '../storage/fence-record.ts'
import { listQuarantine } from '../storage/quarantine.ts'
import { openSqlite } from '../storage/sqlite.ts'
import { collectGarbage } from '../src/registry/garbage-collector.ts'
import { emptyNamespaces } from '../src/registry/empty-namespaces.ts'
import { startServer } from './harness.ts'
import { job, jobsPath } from './jobs.ts'
import { openMemoryBackend } from './model/memory-backend.ts'

const RESOURCE = 'notebookvalidationjobs.mlops.dev'
const PREFIX = `data/${RESOURCE}/`

const engines: readonly (readonly [string, () => Promise<{ readonly backend: Backend; readonly remove: () => void }>])[] = [
  ['memory', async () => ({ backend: openMemoryBackend(), remove: () => {} })],
  ['sqlite', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'undecodable-'))
    return { backend: await openSqlite({ directory, clock: systemClock, log: silentLog }), remove: () => rmSync(directory, { recursive: true }) }
  }],
]

/** Writes a value that is what `alter` makes of an object's own. */
async function spoil(backend: Backend, key: string, alter: (value: Uint8Array) => Uint8Array): Promise<void> {
  const kv = await backend.get(PREFIX + key)
  await backend.commit({ compare: [], put: [{ key: PREFIX + key, value: alter(kv!.value) }] })
}

const flip = (value: Uint8Array): Uint8Array => Uint8Array.from(value, (byte, i) => (i === value.length - 20 ? byte ^ 1 : byte))
const quarantined = async (backend: Backend, count: number) => {
  for (let i = 0; i < 150 && (await listQuarantine(backend, RESOURCE)).length < count; i++) await sleep(20)
  return (await listQuarantine(backend, RESOURCE)).map((entry) => [entry.key, entry.class])
}

for (const [engine, open] of engines) {
  test(`${engine}: reads name class and key, a list the number of the others, and all of them are in quarantine`, async () => {
    const { backend, remove } = await open()
    try {
      await using server = await startServer({ backend })
      for (const name of ['a', 'b', 'c', 'd']) assert.equal((await server.send('POST', jobsPath('v1'), { body: job(name, { metadata: { labels: { app: name } } }) })).status, 201)
      await spoil(backend, 'default/b', flip)
      await spoil(backend, 'default/c', (value) => value.slice(0, -1))
      await spoil(backend, 'default/d', () => Buffer.from('rubbish'))
      assert.deepEqual(await quarantined(backend, 3), [['default/b', 'Corrupt'], ['default/c', 'Truncated'], ['default/d', 'UnknownFormat']])

      const read = async (path: string) => {
        const { status, body } = await server.send('GET', path)
        assert.deepEqual([status, body.reason, body.code], [500, 'InternalError', 500], path)
        return body.message as string
      }
      assert.match(await read(`${jobsPath('v1')}/b`), /^Internal error occurred: cannot decode default\/b \(Corrupt\): [^;]+$/)
      assert.match(await read(`${jobsPath('v1alpha1')}/c`), /cannot decode default\/c \(Truncated\): /)
      for (const query of ['', '?limit=50', '?labelSelector=app', '?resourceVersion=0', '?fieldSelector=metadata.name!%3Da']) {
        assert.match(await read(jobsPath('v1beta1') + query), /cannot decode default\/b \(Corrupt\): .*; and 2 more: see storage quarantine list$/, query)
      }
      assert.equal((await server.send('GET', `${jobsPath('v1')}?limit=1`)).status, 200, 'a page without them')
      assert.match(await read(`${jobsPath('v1')}?limit=2`), /cannot decode default\/b \(Corrupt\): [^;]+$/)
      for (const method of ['PUT', 'DELETE']) {
        const { status, body } = await server.send(method, `${jobsPath('v1')}/b`, method === 'PUT' ? { body: job('b') } : {})
        assert.deepEqual([status, body.reason], [500, 'InternalError'], method)
      }
      // An object that is good again is read again; its record goes with the next look.
      await server.send('POST', jobsPath('v1'), { body: job('e') })
      const whole = await backend.get(`${PREFIX}default/e`)
      assert.equal((await server.send('GET', `${jobsPath('v1')}/e`)).status, 200)
      await backend.commit({ compare: [], put: [{ key: `${PREFIX}default/b`, value: Buffer.from(Buffer.from(whole!.value)) }] })
      assert.equal((await server.send('GET', `${jobsPath('v1')}/b`)).status, 200)
    } finally {
      await backend.close()
      remove()
    }
  })
}

test('they are found at a start, too, and none is recorded by a program that does not know what may be stored', async () => {
  const backend = openMemoryBackend()
  {
    await using server = await startServer({ backend: { ...backend, close: async () => {} } })
    assert.equal((await server.send('POST', jobsPath('v1'), { body: job('a') })).status, 201)
    const fence = parseFence(fenceKey(RESOURCE), await backend.get(fenceKey(RESOURCE)))
    const storedVersions = [...fence.storedVersions, { version: 'v2', firstEpoch: 2, firstRevision: 1, reason: 'a newer release' }]
    await backend.commit({ compare: [], put: [{ key: fenceKey(RESOURCE), value: encodeFence({ ...fence, epoch: 2, storedVersions }) }] })
    await spoil(backend, 'default/a', flip)
    const jobs = server.server.store('NotebookValidationJob')
    await jobs.cache.waitFor(await backend.currentRevision())
    await sleep(100)
    assert.deepEqual(await listQuarantine(backend, RESOURCE), [])
    const loaded = parseFence(fenceKey(RESOURCE), await backend.get(fenceKey(RESOURCE)))
    await backend.commit({ compare: [], put: [{ key: fenceKey(RESOURCE), value: encodeFence({ ...loaded, epoch: 3, storedVersions: fence.storedVersions }) }] })
  }
  await using server = await startServer({ backend })
  assert.deepEqual(await quarantined(backend, 1), [['default/a', 'Corrupt']])
  assert.match((await server.send('GET', jobsPath('v1'))).body.message, /cannot decode default\/a \(Corrupt\): [^;]+$/)
})

test('garbage of the other kinds is collected, a namespace waits, each says so once, and both go on when it is repaired', async () => {
  const backend = openMemoryBackend()
  await using server = await startServer({ backend })
  const send = async (method: string, path: string, body?: object) => (await server.send(method, path, body === undefined ? {} : { body })).body
  const SECRETS = '/api/v1/namespaces/default/secrets'
  const there = async (path: string) => (await server.send('GET', path)).status !== 404
  const until = async (holds: () => Promise<boolean>, what: string) => {
    for (let i = 0; i < 300; i++, await sleep(20)) if (await holds()) return
    assert.fail(`not in time: ${what}`)
  }
  const secret = async (name: string, owner?: { apiVersion: string; kind: string; metadata: { name: string; uid: string } }, namespace = SECRETS) => {
    const ownerReferences = owner && [{ apiVersion: owner.apiVersion, kind: owner.kind, name: owner.metadata.name, uid: owner.metadata.uid }]
    return await send('POST', namespace, { apiVersion: 'v1', kind: 'Secret', metadata: { name, ...(ownerReferences && { ownerReferences }) } })
  }
  const [bad, gone, parent] = [await send('POST', jobsPath('v1'), job('bad')), await send('POST', jobsPath('v1'), job('gone')), await secret('parent')]
  await spoil(backend, 'default/bad', flip)
  await quarantined(backend, 1)

  const said: unknown[] = []
  const log = { ...silentLog, warn: (message: string, fields?: object) => void said.push([message, fields]) }
  const clock = { ...systemClock, sleep: (ms: number, signal?: AbortSignal) => systemClock.sleep(Math.min(ms, 20), signal) }
  const stop = new AbortController()
  const around = { signal: stop.signal, clock, log }
  const namespaced = server.server.stores.filter(({ definition }) => definition.scope === 'Namespaced')
  const running = Promise.all([collectGarbage(server.server.stores, around), emptyNamespaces(server.server.store('Namespace'), namespaced, around)])
  await send('DELETE', `${SECRETS}/parent`)
  await secret('of-parent', parent)
  await secret('of-bad', bad)
  await secret('of-gone', gone)
  await send('DELETE', `${jobsPath('v1')}/gone`)
  await until(async () => !(await there(`${SECRETS}/of-parent`)), 'the dependant of a kind that is known is gone')
  await send('POST', '/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'team' } })
  await secret('inside', undefined, SECRETS.replace('default', 'team'))
  await send('POST', jobsPath('v1').replace('default', 'team'), job('held'))
  await backend.commit({ compare: [], put: [{ key: `${PREFIX}team/held`, value: Buffer.from('rubbish') }] })
  await send('DELETE', '/api/v1/namespaces/team')
  await sleep(200)
  assert.deepEqual([await there(`${SECRETS}/of-bad`), await there(`${SECRETS}/of-gone`), await there('/api/v1/namespaces/team')], [true, true, true])

  await backend.commit({ compare: [], delete: [`${PREFIX}team/held`, `${PREFIX}default/bad`] })
  await until(async () => !(await there(`${SECRETS}/of-bad`)) && !(await there(`${SECRETS}/of-gone`)), 'dependants of what has gone meanwhile')
  await until(async () => !(await there('/api/v1/namespaces/team')), 'the namespace')
  stop.abort()
  await running
  const told = (said as [string, { problem: string; err?: unknown }][]).map(([message, { problem, err }]) => `${message}: ${problem}${err === undefined ? '' : ' with a stack'}`)
  assert.equal(new Set(told).size, told.length, 'nothing is said twice')
  assert.deepEqual([...new Set(told.map((line) => line.replace(/ \(.*$/, '')))], [
    'a kind cannot be followed: what belongs to it, or may, is not collected until it is repaired: cannot decode default/bad',
    'cannot empty a namespace: cannot decode team/held',
  ])
})
