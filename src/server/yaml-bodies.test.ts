import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { DecodeError, decodeYaml } from '../api/codec.ts'
import { deepEqual } from '../api/object.ts'
import { StatusError } from '../api/status.ts'
import { systemClock, type Clock } from '../base/clock.ts'
import { openYamlBodies, type YamlBodies } from './yaml-bodies.ts'

const never = new AbortController().signal
const filler = `# ${'x'.repeat(20_000)}\n`

function open(clock: Clock = systemClock): YamlBodies & AsyncDisposable {
  const bodies = openYamlBodies({ clock })
  return { ...bodies, [Symbol.asyncDispose]: () => bodies.close() }
}

const decode = async (bodies: YamlBodies, text: string) => (await bodies.prepare(Buffer.from(text), never))(text)

test('a large body has the value, the duplicates and the mistakes of a small one', async () => {
  await using bodies = open()
  for (const text of [
    'a: 9007199254740993\nb: 1e30\nc: 18446744073709551615\nd: -0.0\n__proto__: {x: 1}\n2: q\n1: p\ne: "\\ud83d\\u00e9 𝄞"\nf: !!binary YWI=\n',
    'a: 1\nb: {c: 1, c: 2}\na: 2\n',
    '',
    'a: 1\n---\nb: [\n',
  ]) {
    const [small, large] = [await decode(bodies, text), await decode(bodies, filler + text)]
    assert.ok(deepEqual(large.value, small.value), text)
    assert.deepEqual(large.duplicates, decodeYaml(filler + text).duplicates)
  }
  for (const text of ['a: b: c', 'a: .nan', 'a: *b', '['.repeat(100_000)]) {
    const expected = await decode(bodies, filler + text).catch((error: unknown) => error)
    assert.ok(expected instanceof DecodeError)
    assert.throws(() => decodeYaml(filler + text), new DecodeError(expected.message))
  }
})

test('the main thread is free meanwhile, and the bodies are parsed in turn', async () => {
  await using bodies = open()
  const text = `a:\n${Array.from({ length: 30_000 }, (_, i) => `- name: n${i}\n`).join('')}`
  const before = process.threadCpuUsage()
  const parsed = [1, 2].map((n) => bodies.prepare(Buffer.from(`${text}# ${n}`), never))
  const decoders = await Promise.all(parsed)
  const { user, system } = process.threadCpuUsage(before)
  assert.ok(user + system < 100_000, `held for ${(user + system) / 1000} ms`)
  for (const decoder of decoders) assert.equal((decoder(text).value as { a: unknown[] }).a.length, 30_000)
})

const expectStatus = async (promise: Promise<unknown>, code: number, text: RegExp) => {
  const error = await promise.then(() => assert.fail('not refused'), (reason: unknown) => reason)
  assert.ok(error instanceof StatusError, String(error))
  assert.equal(error.code, code)
  assert.match(error.message, text)
}

test('what needs too much time is refused with a Status, and the next body is parsed', async () => {
  // The first timer is that of the job.
  let late: (() => void) | undefined
  await using slow = open({ ...systemClock, schedule: (ms, task) => {
    if (ms === 20_000) late ??= task
    return { cancel: () => {} }
  } })
  const parsing = decode(slow, `a: [${'x, '.repeat(300_000)}1]`)
  const behind = decode(slow, `${filler}b: 2`)
  await sleep(10)
  late?.()
  await expectStatus(parsing, 413, /more than 20 seconds to parse/)
  assert.deepEqual((await behind).value, { b: 2 })
})

test('a client that leaves makes room; more than twenty do not wait', async () => {
  await using bodies = open()
  const leaving = new AbortController()
  const first = decode(bodies, `${filler}a: 0`)
  const waiting = Array.from({ length: 20 }, (_, i) => bodies.prepare(Buffer.from(`${filler}a: ${i}`), i === 19 ? leaving.signal : never))
  await expectStatus(decode(bodies, `${filler}a: x`), 503, /too many large YAML bodies are waiting/)
  leaving.abort(new Error('gone'))
  await assert.rejects(waiting[19] as Promise<unknown>, /gone/)
  const last = decode(bodies, `${filler}a: 99`)
  assert.deepEqual((await last).value, { a: 99 })
  assert.deepEqual((await first).value, { a: 0 })
  assert.equal((await Promise.allSettled(waiting)).filter(({ status }) => status === 'fulfilled').length, 19)
})

test('a thread that has nothing to do goes, and comes again', async () => {
  let idle: (() => void) | undefined
  await using bodies = open({ ...systemClock, schedule: (ms, task) => {
    if (ms === 60_000) idle = task
    return { cancel: () => {} }
  } })
  assert.deepEqual((await decode(bodies, `${filler}a: 1`)).value, { a: 1 })
  idle?.()
  assert.deepEqual((await decode(bodies, `${filler}a: 2`)).value, { a: 2 })
})
