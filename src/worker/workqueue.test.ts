import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fakeClock, settle } from './fake-clock.fixture.ts'
import { WorkQueue } from './workqueue.ts'

function open(work: (key: string) => Promise<void>, parallel = 4) {
  const clock = fakeClock()
  const errors: string[] = []
  return { clock, errors, queue: new WorkQueue({ work, onError: (key) => errors.push(key), parallel, clock }) }
}

test('a key is in the queue once, and is looked at again when it comes while it is worked on', async () => {
  const seen: string[] = []
  let release = () => {}
  const { queue } = open((key) => {
    seen.push(key)
    return new Promise((resolve) => (release = resolve))
  })
  queue.add('a')
  queue.add('a')
  await settle()
  assert.deepEqual(seen, ['a'])
  queue.add('a')
  queue.add('a')
  await settle()
  assert.deepEqual(seen, ['a'], 'never by two at a time')
  release()
  await settle()
  assert.deepEqual(seen, ['a', 'a'])
  release()
  await settle()
  assert.deepEqual(seen, ['a', 'a'])
})

test('no more keys at once than allowed', async () => {
  let [now, most] = [0, 0]
  const { queue } = open(async () => {
    most = Math.max(most, ++now)
    await settle()
    now--
  }, 2)
  for (const key of ['a', 'b', 'c', 'd']) queue.add(key)
  for (let i = 0; i < 5; i++) await settle()
  assert.deepEqual([most, now], [2, 0])
})

test('of several times the earliest counts', async () => {
  const seen: number[] = []
  const { queue, clock } = open(async () => void seen.push(clock.now()))
  const start = clock.now()
  queue.addAfter('a', 5_000)
  queue.addAfter('a', 1_000)
  queue.addAfter('a', 9_000)
  await clock.advance(20_000)
  assert.deepEqual(seen, [start + 1_000])
})

test('what fails comes again, later each time, and a success forgets that', async () => {
  const times: number[] = []
  let failures = 3
  const { queue, clock, errors } = open(async () => {
    times.push(clock.now())
    if (failures-- > 0) throw new Error('no')
  })
  const start = clock.now()
  queue.add('a')
  await clock.advance(10_000)
  assert.deepEqual(times.map((time) => time - start), [0, 100, 300, 700])
  assert.equal(errors.length, 3)
})

test('a stop waits for what is worked on and starts nothing more', async () => {
  const seen: string[] = []
  const { queue, clock } = open(async (key) => {
    seen.push(key)
    await settle()
    seen.push(`${key} done`)
  }, 1)
  queue.add('a')
  queue.add('b')
  queue.addAfter('c', 10)
  await Promise.resolve()
  await queue.stop()
  await clock.advance(100)
  assert.deepEqual(seen, ['a', 'a done'])
})
