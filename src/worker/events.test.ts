import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../api/object.ts'
import { silentLog } from '../base/log.ts'
import { eventsBetween, openEventRecorder } from './events.ts'
import { fakeClock } from './fake-clock.fixture.ts'
import { ApiError, type JobClient } from './job-client.ts'
import { makeJob } from './job.fixture.ts'
import type { JobStatus } from './job.ts'

const between = (before: JobStatus | undefined, after: JobStatus): string[] => eventsBetween(makeJob(), before, after).map(({ type, reason, message }) => `${type} ${reason}: ${message}`)

test('a change of status and its events', () => {
  const running: JobStatus = { attempts: 1, phase: 'Running', reason: 'Running' }
  assert.deepEqual(between(undefined, { attempts: 1, phase: 'Pending', reason: 'Pending' }), [], 'Python is being prepared')
  assert.deepEqual(between({ attempts: 1 }, { ...running, startTime: '2026-01-01T00:00:00Z' }), ['Normal Started: attempt 1 has started'])
  assert.deepEqual(between({ ...running, startTime: '2026-01-01T00:00:00Z' }, { ...running, attempts: 2, startTime: '2026-01-01T00:00:00Z' }), ['Normal Started: attempt 2 has started'])
  assert.equal(eventsBetween(makeJob(), { attempts: 1 }, { ...running, startTime: '2026-01-01T00:00:00Z' })[0]?.at, Date.UTC(2026, 0, 1))
  assert.deepEqual(between(running, { ...running, source: { commit: 'abc' } }), ['Normal Cloned: cloned commit abc'])
  assert.deepEqual(between(running, { ...running, message: '1 of 2 cells' }), [])
  assert.deepEqual(between(running, { ...running, phase: 'Pending', reason: 'Retrying', message: 'later' }), ['Warning Retrying: later'])
  assert.deepEqual(between(running, { ...running, phase: 'Pending', reason: 'Suspended', message: 'the job is suspended' }), ['Normal Suspended: the job is suspended'])
  assert.deepEqual(between(running, { ...running, phase: 'Failed', reason: 'OutputMismatch', message: 'cell 1', truncated: true }), ['Warning Failed: OutputMismatch: cell 1', 'Normal Truncated: the results were cut to the size that a status may have'])
  assert.deepEqual(between(running, { ...running, phase: 'Succeeded', reason: 'Validated', message: 'all' }), ['Normal Succeeded: all'])
  assert.deepEqual(between({ ...running, phase: 'Succeeded' }, { ...running, phase: 'Succeeded' }), [])
})

test('the same event again counts up, and one that has expired is made anew', async () => {
  const created: JsonObject[] = []
  const patched: [string, JsonObject][] = []
  let expired = false
  const client = {
    createEvent: async (_namespace: string, event: JsonObject) => void created.push(event),
    patchEvent: async (_namespace: string, name: string, patch: JsonObject) => {
      if (expired) throw new ApiError(404, 'NotFound', 'gone')
      patched.push([name, patch])
    },
  } as unknown as JobClient
  const clock = fakeClock()
  const recorder = openEventRecorder(client, clock, silentLog)
  const event = { type: 'Normal', reason: 'Started', message: 'm'.repeat(2000) } as const
  const job = makeJob({ name: 'x'.repeat(253) })
  await recorder.record(job, event)
  await clock.advance(5_000)
  await recorder.record(job, event)
  await recorder.record(job, { ...event, reason: 'Other' })
  assert.equal(created.length, 2)
  const name = String((created[0]!.metadata as JsonObject).name)
  assert.deepEqual(patched, [[name, { count: 2, lastTimestamp: '2026-01-01T00:00:05Z' }]])
  assert.ok(name.length <= 253)
  assert.equal(String(created[0]?.message).length, 1024)
  expired = true
  await recorder.record(job, event)
  assert.equal(created.length, 3)
  assert.equal(created[2]?.count, 1)
})

test('the names of events are in the order in which they happened, within a millisecond too', async () => {
  const created: JsonObject[] = []
  const client = { createEvent: async (_namespace: string, event: JsonObject) => void created.push(event) } as unknown as JobClient
  const clock = fakeClock()
  const recorder = openEventRecorder(client, clock, silentLog)
  for (let i = 0; i < 20; i++) {
    if (i % 5 === 0) await clock.advance(1)
    await recorder.record(makeJob(), { type: 'Normal', reason: 'R', message: String(i), at: Date.UTC(2025, 0, 1) })
  }
  const names = created.map(({ metadata }) => String((metadata as JsonObject).name))
  assert.deepEqual(names.toSorted(), names)
  assert.equal(new Set(names).size, 20)
  assert.match(names[0]!, /^a\.[0-9a-f]{16}$/)
  assert.equal(created[0]?.firstTimestamp, '2025-01-01T00:00:00Z')
})

test('an event that cannot be written stops nothing', async () => {
  const client = { createEvent: async () => Promise.reject(new Error('no')) } as unknown as JobClient
  await openEventRecorder(client, fakeClock(), silentLog).record(makeJob(), { type: 'Normal', reason: 'Started', message: '' })
})
