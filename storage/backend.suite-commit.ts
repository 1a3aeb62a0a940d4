/** Suite: commits, their conditions, and the values they store. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MAX_VALUE_BYTES, TooLarge } from './backend.ts'
import type { Backend, Compare } from './backend.ts'
import { bytes, freshRange, put, remove, shown, text } from './backend.suite-fixture.ts'
import type { SuiteStore } from './backend.suite-fixture.ts'

export function commitTests(store: () => SuiteStore): void {
  test('the current revision is never 0', async () => {
    assert.ok((await store().backend.currentRevision()) > 0)
  })

  test('each commit that writes has a greater revision; a key keeps its createRevision until it is deleted', async () => {
    const { backend } = store()
    const key = `${freshRange().prefix}a`
    const first = await put(backend, key, '1')
    assert.deepEqual(shown(await backend.get(key)), { key, value: '1', mod: first, created: first })
    const second = await put(backend, key, '2')
    assert.ok(second > first && Number.isSafeInteger(second))
    assert.deepEqual(shown(await backend.get(key)), { key, value: '2', mod: second, created: first })
    const third = await remove(backend, key)
    assert.ok(third > second)
    assert.equal(await backend.get(key), undefined)
    const fourth = await put(backend, key, '4')
    assert.deepEqual(shown(await backend.get(key)), { key, value: '4', mod: fourth, created: fourth })
  })

  test('several keys of one commit share its revision', async () => {
    const { backend } = store()
    const { prefix, start, end } = freshRange()
    await put(backend, `${prefix}c`, 'old')
    const result = await backend.commit({
      compare: [], put: [{ key: `${prefix}a`, value: bytes('1') }, { key: `${prefix}b`, value: bytes('2') }], delete: [`${prefix}c`],
    })
    const { kvs } = await backend.range({ start, end })
    assert.deepEqual(kvs.map((kv) => [kv.key, kv.modRevision]), [[`${prefix}a`, result.revision], [`${prefix}b`, result.revision]])
  })

  test('a commit that writes nothing has the current revision', async () => {
    const { backend } = store()
    const { prefix } = freshRange()
    const before = await put(backend, `${prefix}a`, '1')
    assert.deepEqual(await backend.commit({ compare: [] }), { succeeded: true, revision: before })
    assert.deepEqual(await backend.commit({ compare: [], delete: [`${prefix}absent`] }), { succeeded: true, revision: before })
    assert.equal(await backend.currentRevision(), before)
  })

  test('a lost race writes nothing and tells what every compared key holds', async () => {
    const { backend } = store()
    const { prefix } = freshRange()
    const [a, b, c] = ['a', 'b', 'c'].map((name) => prefix + name) as [string, string, string]
    const revision = await put(backend, a, '1')
    const compare = [{ key: a, modRevision: revision }, { key: b, modRevision: 7 }, { key: c, modRevision: 0 }]
    const result = await backend.commit({ compare, put: [{ key: a, value: bytes('2') }], delete: [c] })
    assert.ok(!result.succeeded)
    assert.equal(result.revision, revision)
    assert.deepEqual([...result.current].map(([key, kv]) => [key, shown(kv)]), [[a, { key: a, value: '1', mod: revision, created: revision }], [b, undefined], [c, undefined]])
    assert.equal(text((await backend.get(a))?.value), '1')
  })

  test('conditions on keys: absent, at a revision, all of them', async () => {
    const { backend } = store()
    const { prefix } = freshRange()
    const revision = await put(backend, `${prefix}a`, '1')
    const other = await put(backend, `${prefix}b`, '1')
    const holds = conditionChecker(backend, prefix)
    assert.equal(await holds({ key: `${prefix}a`, modRevision: revision }), true)
    assert.equal(await holds({ key: `${prefix}a`, modRevision: 0 }), false)
    assert.equal(await holds({ key: `${prefix}a`, modRevision: other }), false)
    assert.equal(await holds({ key: `${prefix}absent`, modRevision: 0 }), true)
    assert.equal(await holds({ key: `${prefix}absent`, modRevision: revision }), false)
    assert.equal(await holds({ key: `${prefix}a`, modRevision: revision }, { key: `${prefix}b`, modRevision: other }), true)
    assert.equal(await holds({ key: `${prefix}a`, modRevision: revision }, { key: `${prefix}b`, modRevision: revision }), false)
    await remove(backend, `${prefix}a`)
    assert.equal(await holds({ key: `${prefix}a`, modRevision: 0 }), true)
  })

  test('conditions on ranges: every key is below a revision', async () => {
    const { backend } = store()
    const { prefix, start, end } = freshRange()
    const holds = conditionChecker(backend, freshRange().prefix)
    assert.equal(await holds({ start, end, modRevisionBelow: 1 }), true)
    const a = await put(backend, `${prefix}a`, '1')
    const b = await put(backend, `${prefix}b`, '1')
    assert.equal(await holds({ start, end, modRevisionBelow: 1 }), false)
    assert.equal(await holds({ start, end, modRevisionBelow: b }), false)
    assert.equal(await holds({ start, end, modRevisionBelow: b + 1 }), true)
    assert.equal(await holds({ start, end: `${prefix}b`, modRevisionBelow: a + 1 }), true)
    await put(backend, `${prefix}a`, '2')
    await remove(backend, `${prefix}a`)
    assert.equal(await holds({ start, end, modRevisionBelow: b + 1 }), true, 'a deleted key is not in the range')
  })

  test('of many that create a key, one succeeds', async () => {
    const { backend } = store()
    const key = `${freshRange().prefix}a`
    const attempts = Array.from({ length: 20 }, (_, i) => backend.commit({ compare: [{ key, modRevision: 0 }], put: [{ key, value: bytes(`${i}`) }] }))
    const results = await Promise.all(attempts)
    const winner = results.findIndex((result) => result.succeeded)
    assert.equal(results.filter((result) => result.succeeded).length, 1)
    assert.equal(text((await backend.get(key))?.value), `${winner}`)
    for (const result of results) if (!result.succeeded) assert.equal(text(result.current.get(key)?.value), `${winner}`)
  })

  test('concurrent increments are all counted', async () => {
    const { backend } = store()
    const key = `${freshRange().prefix}counter`
    await put(backend, key, '0')
    const revisions = (await Promise.all(Array.from({ length: 6 }, () => increment(backend, key, 5)))).flat()
    assert.equal(text((await backend.get(key))?.value), '30')
    assert.equal(new Set(revisions).size, 30)
  })

  test('what has been committed is seen by every later read', async () => {
    const { backend } = store()
    const { prefix, start, end } = freshRange()
    const check = async (key: string): Promise<void> => {
      const revision = await put(backend, key, 'x')
      const [kv, range, current] = await Promise.all([backend.get(key), backend.range({ start, end }), backend.currentRevision()])
      assert.equal(kv?.modRevision, revision)
      assert.ok(range.revision >= revision && current >= revision)
      assert.ok(range.kvs.some((found) => found.key === key))
    }
    await Promise.all(Array.from({ length: 20 }, (_, i) => check(`${prefix}${i}`)))
  })

  test('requests that make no sense are refused', async () => {
    const { backend } = store()
    const { prefix } = freshRange()
    const item = { key: `${prefix}a`, value: bytes('x') }
    await assert.rejects(backend.commit({ compare: [], put: [item, item] }), TypeError)
    await assert.rejects(backend.commit({ compare: [], put: [item], delete: [item.key] }), TypeError)
    await assert.rejects(backend.commit({ compare: [], put: [{ ...item, key: '' }] }), TypeError)
    await assert.rejects(backend.commit({ compare: [], delete: [`${prefix}\ud800`] }), TypeError)
    assert.equal(await backend.get(item.key), undefined)
  })
}

export function valueTests(store: () => SuiteStore): void {
  const roundTrip = async (value: Uint8Array): Promise<void> => {
    const { backend } = store()
    const { prefix, start, end } = freshRange()
    await put(backend, `${prefix}a`, value)
    for (const kv of [await backend.get(`${prefix}a`), (await backend.range({ start, end })).kvs[0]]) assert.equal(Buffer.compare(kv!.value, value), 0)
  }
  test('any bytes', () => roundTrip(Uint8Array.from({ length: 512 }, (_, i) => i % 256)))
  test('no bytes', () => roundTrip(new Uint8Array()))
  test('a view of a larger buffer', () => roundTrip(new Uint8Array(new ArrayBuffer(100), 50, 10).fill(7)))
  test('the largest value', () => roundTrip(new Uint8Array(MAX_VALUE_BYTES).fill(1)))

  test('a value over the limit is refused, and with it the commit', async () => {
    const { backend } = store()
    const { prefix, start, end } = freshRange()
    const large = { key: `${prefix}b`, value: new Uint8Array(MAX_VALUE_BYTES + 1) }
    await assert.rejects(backend.commit({ compare: [], put: [{ key: `${prefix}a`, value: bytes('x') }, large] }), TooLarge)
    assert.equal((await backend.range({ start, end })).count, 0)
  })
}

function conditionChecker(backend: Backend, prefix: string): (...compare: Compare[]) => Promise<boolean> {
  return async (...compare) => (await backend.commit({ compare, put: [{ key: `${prefix}proof`, value: bytes('x') }] })).succeeded
}

async function increment(backend: Backend, key: string, times: number): Promise<number[]> {
  const revisions: number[] = []
  let kv = await backend.get(key)
  while (revisions.length < times) {
    const result = await backend.commit({ compare: [{ key, modRevision: kv!.modRevision }], put: [{ key, value: bytes(`${Number(text(kv!.value)) + 1}`) }] })
    if (result.succeeded) revisions.push(result.revision)
    kv = result.succeeded ? await backend.get(key) : result.current.get(key)
  }
  return revisions
}
