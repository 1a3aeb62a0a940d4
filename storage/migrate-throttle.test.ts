import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openManualClock } from '../test/model/manual-clock.ts'
import { DEFAULT_LIMITS, openThrottle } from './migrate-throttle.ts'

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** Commits that take `ms` each, as many as are allowed; how many ran at once at the end of the time. */
function load(limits: Partial<typeof DEFAULT_LIMITS>) {
  const clock = openManualClock()
  const throttle = openThrottle(clock, { ...DEFAULT_LIMITS, inFlight: 8, inFlightBusy: 2, ...limits })
  const state = { running: 0, ms: 1, revision: 100, others: 0, done: 0, over: false }
  const commit = async (): Promise<{ revision: number }> => {
    state.running++
    await clock.sleep(state.ms)
    state.running--
    state.done++
    state.revision += 1 + state.others
    return { revision: state.revision }
  }
  for (let i = 0; i < 16; i++) void (async () => {
    while (!state.over) await throttle.run(commit)
  })()
  const pass = async (seconds: number): Promise<void> => {
    for (let i = 0; i < seconds * 10; i++) await clock.advance(100)
    await settle()
  }
  return { throttle, state, pass }
}

test('fast commits: as many as allowed', async () => {
  const { throttle, state, pass } = load({})
  await pass(1)
  assert.deepEqual([state.running, throttle.limitedBy], [8, undefined])
  state.over = true
})

test('slow commits halve it, fast ones raise it by one', async () => {
  const { throttle, state, pass } = load({})
  state.ms = 200
  await pass(3)
  assert.deepEqual([state.running, throttle.limitedBy], [1, 'CommitLatency'])
  state.ms = 5
  await pass(1)
  assert.ok(state.running > 1 && state.running < 8, `${state.running}`)
  await pass(5)
  assert.deepEqual([state.running, throttle.limitedBy], [8, undefined])
  assert.ok((throttle.waited.get('CommitLatency') ?? 0) > 0)
  state.over = true
})

test('commits of others make room for them, until they end', async () => {
  const { throttle, state, pass } = load({})
  state.others = 3
  await pass(1)
  assert.deepEqual([state.running, throttle.limitedBy], [2, 'OtherWriters'])
  state.others = 0
  await pass(1)
  assert.deepEqual([state.running, throttle.limitedBy], [8, undefined])
  state.over = true
})

test('a stop condition holds everything, and says why', async () => {
  const { throttle, state, pass } = load({})
  throttle.stop('NoSpace')
  await pass(1)
  const { done } = state
  await pass(1)
  assert.deepEqual([state.running, state.done, throttle.limitedBy], [0, done, 'NoSpace'])
  throttle.stop(undefined)
  await pass(1)
  assert.ok(state.done > done)
  state.over = true
})

test('at its end what waits is told, and runs no more, at whatever rate', async () => {
  const clock = openManualClock()
  const throttle = openThrottle(clock, DEFAULT_LIMITS)
  throttle.limit(1)
  let ran = 0
  const commit = async (): Promise<{ revision: number }> => ({ revision: ++ran })
  const all = Array.from({ length: 10 }, () => throttle.run(commit))
  await clock.advance(2000)
  await settle()
  throttle.end()
  assert.equal((await Promise.all(all)).filter((result) => result === undefined).length, 10 - ran)
  assert.equal(await throttle.run(commit), undefined)
  assert.ok(ran > 0 && ran < 5, `${ran}`)
})

test('what held it back is time that passed, and nobody is blamed before the first look', async () => {
  const { throttle, state, pass } = load({})
  assert.equal(throttle.limitedBy, undefined)
  await pass(1)
  throttle.stop('NoSpace')
  // Sixteen commits wait.
  await pass(3)
  assert.deepEqual([...throttle.waited], [['NoSpace', 3000]])
  throttle.stop(undefined)
  throttle.limit(50)
  await pass(4)
  const rated = throttle.waited.get('Rate') ?? 0
  assert.ok(rated > 3000 && rated <= 4000, `${rated}`)
  assert.equal(throttle.waited.get('NoSpace'), 3000)
  state.over = true
})

test('a fixed rate, where it is asked for', async () => {
  const { throttle, state, pass } = load({})
  throttle.limit(50)
  await pass(4)
  assert.ok(state.done > 180 && state.done < 220, `${state.done}`)
  assert.equal(throttle.limitedBy, 'Rate')
  // Changed while it runs, and lifted.
  const before = state.done
  throttle.limit(10)
  await pass(4)
  assert.ok(state.done - before < 80, `${state.done - before}`)
  throttle.limit(undefined)
  await pass(4)
  assert.ok(state.done - before > 1000, `${state.done - before}`)
  assert.equal(throttle.limitedBy, undefined)
  state.over = true
})
