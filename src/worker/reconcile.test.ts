import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type AttemptState, fold, newAttempt } from './attempt.ts'
import type { AttemptFailure } from './attempt-failure.ts'
import type { Observation } from './executor.ts'
import { makeJob, makeReport } from './job.fixture.ts'
import { formatTime, type Job, type JobStatus } from './job.ts'
import { podNameOf } from './pod.ts'
import { type Action, type Observed, reconcile, retryDelay } from './reconcile.ts'

const now = Date.UTC(2026, 0, 1, 12)
const observed = (more: Partial<Observed> = {}): Observed => ({ now, slotFree: true, ...more })
const types = (actions: readonly Action[]): string[] => actions.map(({ type }) => type)
const statusOf = (actions: readonly Action[]): JobStatus => {
  const action = actions.find(({ type }) => type === 'UpdateStatus')
  assert.equal(action?.type, 'UpdateStatus')
  return (action as Extract<Action, { type: 'UpdateStatus' }>).status
}
const say = (status: JobStatus): string => `${status.phase} ${status.reason}`
const conditions = (status: JobStatus): Record<string, string> => Object.fromEntries((status.conditions ?? []).map(({ type, status: value, reason }) => [type, `${value} ${reason}`]))
const attempt = (number: number, ...seen: Observation[]): AttemptState => seen.reduce(fold, newAttempt(number))

const cloning = { type: 'cloning', at: now - 5_000 } as const
const source = { type: 'source', commit: 'c'.repeat(40) } as const
const started = { type: 'started', runtime: { kernelName: 'python3', language: 'python', nbformat: '4.5' } } as const
const record = { type: 'record', bytes: 10, record: { type: 'notebook', ...started.runtime, cells: [{ index: 0, id: 'x', type: 'Code', tags: [], source: '1' }] } } as const
const failed = (reason: string, failureClass: AttemptFailure['class']): Observation => ({ type: 'failed', failure: { reason, class: failureClass, message: 'why' } })
const finished = (reason?: string): Observation => ({ type: 'finished', report: makeReport(reason) })
const running = (status: Partial<JobStatus> = {}): JobStatus => ({ phase: 'Running', reason: 'Running', attempts: 1, startTime: formatTime(now - 5_000), ...status })
const done = (status: Partial<JobStatus> = {}): JobStatus => ({ phase: 'Succeeded', conditions: [{ type: 'Succeeded', status: 'True' }], completionTime: formatTime(now - 10_000), ...status })

test('what is done with a job in each of its states', () => {
  const cases: [string, Job, Partial<Observed>, string[], string?][] = [
    ['new', makeJob(), {}, ['UpdateStatus', 'StartAttempt'], 'Pending Pending'],
    ['new, no slot', makeJob(), { slotFree: false }, ['UpdateStatus'], 'Pending Pending'],
    ['deleted', makeJob({ deletionTimestamp: formatTime(now) }), {}, []],
    ['deleted while it runs', makeJob({ deletionTimestamp: formatTime(now) }), { attempt: attempt(1, cloning) }, ['ForgetAttempt']],
    ['preparing', makeJob({ status: running({ reason: 'Pending' }) }), { attempt: attempt(1, { type: 'preparing', message: 'pip' }) }, ['UpdateStatus', 'Requeue'], 'Pending Pending'],
    ['cloning', makeJob({ status: running() }), { attempt: attempt(1, cloning) }, ['UpdateStatus', 'Requeue'], 'Running Cloning'],
    ['running', makeJob({ status: running() }), { attempt: attempt(1, cloning, source, started, record) }, ['UpdateStatus', 'Requeue'], 'Running Running'],
    ['comparing', makeJob({ status: running() }), { attempt: attempt(1, cloning, source, started, record, { type: 'comparing' }) }, ['UpdateStatus', 'Requeue'], 'Running Comparing'],
    ['succeeded', makeJob({ status: running() }), { attempt: attempt(1, cloning, source, started, finished()) }, ['UpdateStatus', 'ForgetAttempt'], 'Succeeded Validated'],
    ['mismatch', makeJob({ status: running() }), { attempt: attempt(1, cloning, source, finished('OutputMismatch')) }, ['UpdateStatus', 'ForgetAttempt'], 'Failed OutputMismatch'],
    ['no results', makeJob({ status: running() }), { attempt: attempt(1, cloning, source, failed('ResultsUnavailable', 'Result')) }, ['UpdateStatus', 'ForgetAttempt'], 'Failed ResultsUnavailable'],
    ['user error', makeJob({ status: running() }), { attempt: attempt(1, cloning, failed('RevisionNotFound', 'Final')) }, ['UpdateStatus', 'ForgetAttempt'], 'Failed RevisionNotFound'],
    ['network', makeJob({ status: running() }), { attempt: attempt(1, cloning, failed('RunnerUnavailable', 'Infrastructure')) }, ['UpdateStatus', 'ForgetAttempt', 'ScheduleRetry', 'Requeue', 'Requeue'], 'Pending Retrying'],
    ['network, last attempt', makeJob({ status: running({ attempts: 3 }) }), { attempt: attempt(3, cloning, failed('RunnerUnavailable', 'Infrastructure')) }, ['UpdateStatus', 'ForgetAttempt'], 'Failed RunnerUnavailable'],
    ['kernel did not start', makeJob({ status: running() }), { attempt: attempt(1, cloning, source, finished('KernelStartFailed')) }, ['UpdateStatus', 'ForgetAttempt', 'ScheduleRetry', 'Requeue', 'Requeue'], 'Pending Retrying'],
    ['kernel did not start again', makeJob({ status: running() }), { attempt: attempt(2, cloning, source, finished('KernelStartFailed')), reportedBefore: ['KernelStartFailed'] }, ['UpdateStatus', 'ForgetAttempt'], 'Failed KernelStartFailed'],
    ['kernel did not start, after other trouble', makeJob({ status: running() }), { attempt: attempt(2, cloning, source, finished('KernelStartFailed')), reportedBefore: ['RunnerUnavailable'] }, ['UpdateStatus', 'ForgetAttempt', 'ScheduleRetry', 'Requeue', 'Requeue'], 'Pending Retrying'],
    ['kernel did not start, last attempt', makeJob({ status: running() }), { attempt: attempt(3, cloning, source, finished('KernelStartFailed')) }, ['UpdateStatus', 'ForgetAttempt'], 'Failed KernelStartFailed'],
    ['runner was killed', makeJob({ status: running() }), { attempt: attempt(1, cloning, source, started, finished('RunnerUnavailable')) }, ['UpdateStatus', 'ForgetAttempt', 'ScheduleRetry', 'Requeue', 'Requeue'], 'Pending Retrying'],
    ['runner was killed again', makeJob({ status: running() }), { attempt: attempt(2, cloning, source, started, finished('RunnerUnavailable')), reportedBefore: ['RunnerUnavailable'] }, ['UpdateStatus', 'ForgetAttempt'], 'Failed RunnerUnavailable'],
    ['retry is due', makeJob({ status: running({ reason: 'Retrying' }) }), { retryAt: now }, ['UpdateStatus', 'StartAttempt', 'Requeue'], 'Pending Pending'],
    ['retry is not due', makeJob({ status: running({ reason: 'Retrying' }) }), { retryAt: now + 1 }, ['Requeue', 'Requeue']],
    ['worker was lost', makeJob({ status: running() }), {}, ['UpdateStatus', 'StartAttempt', 'Requeue'], 'Pending Pending'],
    ['worker was lost once too often', makeJob({ status: running({ attempts: 3 }) }), {}, ['UpdateStatus'], 'Failed RunnerUnavailable'],
    ['deadline', makeJob({ spec: { activeDeadlineSeconds: 60 }, status: running({ startTime: formatTime(now - 60_000) }) }), { attempt: attempt(1, cloning, source, started, record) }, ['UpdateStatus', 'ForgetAttempt'], 'Failed DeadlineExceeded'],
    ['deadline while it waits for a retry', makeJob({ spec: { activeDeadlineSeconds: 60 }, status: running({ startTime: formatTime(now - 60_000), reason: 'Retrying' }) }), { retryAt: now + 1 }, ['UpdateStatus'], 'Failed DeadlineExceeded'],
    ['suspended', makeJob({ spec: { suspend: true } }), {}, ['UpdateStatus'], 'Pending Suspended'],
    ['suspended while it runs', makeJob({ spec: { suspend: true }, status: running() }), { attempt: attempt(1, cloning) }, ['ForgetAttempt', 'UpdateStatus'], 'Pending Suspended'],
    ['resumed', makeJob({ status: { phase: 'Pending', reason: 'Suspended', attempts: 0 } }), {}, ['UpdateStatus', 'StartAttempt'], 'Pending Pending'],
    ['not supported', makeJob({ spec: { execution: { parameters: [{ name: 'x', value: 1 }] } } }), {}, ['UpdateStatus'], 'Failed NotSupported'],
    ['not supported and suspended', makeJob({ spec: { suspend: true, execution: { parameters: [{ name: 'x', value: 1 }] } } }), {}, ['UpdateStatus'], 'Pending Suspended'],
    ['finished', makeJob({ status: done() }), {}, []],
    ['finished, time to live', makeJob({ spec: { ttlSecondsAfterFinished: 11 }, status: done() }), {}, ['Requeue']],
    ['finished, time has passed', makeJob({ spec: { ttlSecondsAfterFinished: 10 }, status: done() }), {}, ['DeleteJob']],
    ['the worker stops', makeJob({ status: running() }), { attempt: attempt(1, cloning), stopping: true }, ['ForgetAttempt', 'UpdateStatus'], 'Pending Pending'],
    ['the worker stops, nothing runs', makeJob(), { stopping: true }, []],
  ]
  for (const [name, job, more, expected, status] of cases) {
    const actions = reconcile(job, observed(more))
    assert.deepEqual(types(actions), expected, name)
    if (status !== undefined) assert.equal(say(statusOf(actions)), status, name)
  }
})

test('a suspended job is told once', () => {
  const job = makeJob({ spec: { suspend: true } })
  const status = statusOf(reconcile(job, observed()))
  assert.deepEqual(reconcile({ ...job, status }, observed()), [])
})

test('an attempt is counted before it starts, and one that was interrupted does not count', () => {
  assert.equal(statusOf(reconcile(makeJob({ status: running({ attempts: 1 }) }), observed())).attempts, 2)
  assert.equal(statusOf(reconcile(makeJob({ spec: { suspend: true }, status: running({ attempts: 2 }) }), observed({ attempt: attempt(2, cloning) }))).attempts, 1)
  assert.equal(statusOf(reconcile(makeJob({ status: running() }), observed({ attempt: attempt(1, cloning), stopping: true }))).attempts, 0)
})

test('the deadline counts from the first attempt and starts anew after a suspension', () => {
  const first = statusOf(reconcile(makeJob(), observed({ attempt: attempt(1, cloning) })))
  assert.equal(first.startTime, formatTime(now - 5_000))
  const [, start] = reconcile(makeJob({ status: running() }), observed())
  assert.deepEqual(start, { type: 'StartAttempt', number: 2, startedAt: now - 5_000 })
  assert.equal(statusOf(reconcile(makeJob({ spec: { suspend: true }, status: running() }), observed())).startTime, undefined)
  assert.deepEqual(reconcile(makeJob({ status: running() }), observed({ attempt: attempt(1, cloning) })).at(-1), { type: 'Requeue', at: now - 5_000 + 3600_000 })
})

test('retries wait 10 s, 20 s, … up to 5 min', () => {
  assert.deepEqual([1, 2, 3, 5, 6, 10].map(retryDelay), [10_000, 20_000, 40_000, 160_000, 300_000, 300_000])
})

test('the conditions of a job on its way', () => {
  const golden = { golden: { path: 'g.ipynb' } }
  const at = (...seen: Observation[]): Record<string, string> => conditions(statusOf(reconcile(makeJob({ spec: golden, status: running() }), observed({ attempt: attempt(1, ...seen) }))))
  const unknown = (reason: string) => ({ Succeeded: `Unknown ${reason}`, SourceReady: `Unknown ${reason}`, PodReady: `Unknown ${reason}`, Executed: `Unknown ${reason}`, Compared: `Unknown ${reason}` })
  assert.deepEqual(at(cloning), unknown('Cloning'))
  assert.deepEqual(at(cloning, source, started, record), { ...unknown('Running'), SourceReady: 'True Cloned', PodReady: 'True LocalProcess' })
  assert.deepEqual(at(cloning, source, started, finished()), { Succeeded: 'True Validated', SourceReady: 'True Cloned', PodReady: 'True LocalProcess', Executed: 'True Completed', Compared: 'True Matched' })
  assert.deepEqual(at(cloning, source, started, finished('OutputMismatch')), { Succeeded: 'False OutputMismatch', SourceReady: 'True Cloned', PodReady: 'True LocalProcess', Executed: 'True Completed', Compared: 'False OutputMismatch' })
  assert.deepEqual(at(cloning, source, started, finished('NotebookFailed')), { Succeeded: 'False NotebookFailed', SourceReady: 'True Cloned', PodReady: 'True LocalProcess', Executed: 'False NotebookFailed', Compared: 'Unknown NotReached' })
  assert.deepEqual(at(cloning, failed('RevisionNotFound', 'Final')), { Succeeded: 'False RevisionNotFound', SourceReady: 'False RevisionNotFound', PodReady: 'Unknown NotReached', Executed: 'Unknown NotReached', Compared: 'Unknown NotReached' })
  assert.equal('Compared' in conditions(statusOf(reconcile(makeJob(), observed()))), false, 'nothing is compared without a reference')
})

test('the duration grows while a cell runs', () => {
  const cell = (at: number, record: Extract<Observation, { type: 'record' }>['record']): Observation => ({ type: 'record', bytes: 1, at, record })
  const began = cell(now - 65_300, { type: 'cell-start', index: 0 })
  const actions = reconcile(makeJob({ status: running() }), observed({ attempt: attempt(1, cloning, source, started, record, began) }))
  assert.deepEqual([statusOf(actions).summary?.duration, statusOf(actions).summary?.durationMilliseconds], ['1m5s', 65_000])
  assert.deepEqual(actions[1], { type: 'Requeue', at: now + 10_000 })
  const ended = cell(now, { type: 'cell', index: 0, outcome: 'Succeeded', durationMilliseconds: 65_250, outputs: [] })
  const after = reconcile(makeJob({ status: running() }), observed({ attempt: attempt(1, cloning, source, started, record, began, ended) }))
  assert.deepEqual([statusOf(after).summary?.durationMilliseconds, types(after)], [65_250, ['UpdateStatus', 'Requeue']])
})

test('pod settings that mean nothing here are told beside the condition of the pod', () => {
  const job = makeJob({ spec: { podTemplate: { env: [{ name: 'A', value: 'b' }], volumes: [{ name: 'v', emptyDir: {} }] } }, status: running() })
  const status = statusOf(reconcile(job, observed({ attempt: attempt(1, cloning, source, started, finished()) })))
  const pod = status.conditions?.find(({ type }) => type === 'PodReady')
  assert.deepEqual([pod?.status, pod?.message], ['True', 'this worker runs notebooks as processes of its machine, so spec.podTemplate.env, spec.podTemplate.volumes mean nothing here'])
  assert.equal(say(status), 'Succeeded Validated')
})

test('lastTransitionTime changes only with the status of a condition', () => {
  const job = makeJob({ generation: 3 })
  const first = statusOf(reconcile(job, observed()))
  const second = statusOf(reconcile({ ...job, status: first }, observed({ now: now + 60_000, attempt: attempt(1, cloning, source, started, record) })))
  const time = (status: JobStatus, type: string) => status.conditions?.find((condition) => condition.type === type)?.lastTransitionTime
  assert.equal(time(second, 'Succeeded'), formatTime(now))
  assert.equal(time(second, 'SourceReady'), formatTime(now + 60_000))
  assert.ok(second.conditions?.every(({ observedGeneration }) => observedGeneration === 3))
})

test('foreign conditions stay, and the status says the same when nothing has changed', () => {
  const job = makeJob({ status: { conditions: [{ type: 'Theirs', status: 'True' }] } })
  const status = statusOf(reconcile(job, observed({ attempt: attempt(1, cloning) })))
  assert.deepEqual(status.conditions?.at(-1), { type: 'Theirs', status: 'True' })
  assert.deepEqual(statusOf(reconcile({ ...job, status }, observed({ now: now + 1000, attempt: attempt(1, cloning) }))), status)
})

test('whatever is observed, success is only said of a report that says so, and an end has its time', () => {
  const observation = fc.constantFrom<Observation>(cloning, source, started, record, { type: 'comparing' }, finished(), finished('NotebookFailed'), failed('RunnerUnavailable', 'Infrastructure'), failed('ResultsUnavailable', 'Result'))
  const state = fc.record({
    number: fc.integer({ min: 1, max: 4 }),
    seen: fc.array(observation, { maxLength: 6 }),
    status: fc.constantFrom(undefined, running(), running({ reason: 'Retrying' }), running({ attempts: 4 })),
    suspend: fc.boolean(),
    slotFree: fc.boolean(),
    alive: fc.boolean(),
  })
  fc.assert(
    fc.property(state, ({ number, seen, status, suspend, slotFree, alive }) => {
      const live = attempt(number, ...seen)
      const job = makeJob({ spec: { suspend }, ...(status ? { status } : {}) })
      const actions = reconcile(job, observed({ slotFree, ...(alive ? { attempt: live } : {}) }))
      for (const action of actions) {
        if (action.type === 'StartAttempt') assert.ok(slotFree && !alive && !suspend)
        if (action.type !== 'UpdateStatus') continue
        const { phase, completionTime, conditions: all } = action.status
        const succeeded = all?.find(({ type }) => type === 'Succeeded')?.status
        if (phase === 'Succeeded') assert.ok(alive && live.report?.verdict.succeeded && !live.failure)
        assert.equal(completionTime !== undefined, phase === 'Succeeded' || phase === 'Failed')
        assert.equal(succeeded, phase === 'Succeeded' ? 'True' : phase === 'Failed' ? 'False' : 'Unknown')
      }
    }),
  )
})

test('pods outlive their worker: what the status names is taken up, and what it names no more is let go', () => {
  const job = (status: Partial<JobStatus>, spec = {}): Job => makeJob({ status: { phase: 'Running', reason: 'Running', attempts: 2, startTime: formatTime(now - 5_000), ...status }, spec })
  const name = podNameOf(makeJob(), 2)
  const named = { podRef: { name, uid: 'u' } }
  const pod = { type: 'pod', name, uid: 'u' } as const
  const seen = attempt(2, pod, cloning)
  const say = (of: Job, more: Partial<Observed> = {}): string =>
    reconcile(of, observed({ pods: true, ...more })).map((action) => (action.type === 'UpdateStatus' ? `${action.status.reason} ${action.status.podRef?.uid ?? action.status.podRef?.name ?? '-'}` : 'number' in action ? `${action.type} ${action.number}` : action.type)).join(', ')
  const cases: [string, Job, Partial<Observed>, string][] = [
    ['new', makeJob(), {}, `Pending ${podNameOf(makeJob(), 1)}, StartAttempt 1`],
    ['left by another worker', job(named), { slotFree: false }, 'StartAttempt 2'],
    ['left before its pod was seen', job({ podRef: { name }, reason: 'Pending' }), {}, 'StartAttempt 2'],
    ['left beyond its deadline', job({ ...named, startTime: formatTime(now - 9_999_000) }), {}, 'StartAttempt 2'],
    ['failed', job({ reason: 'Retrying' }), {}, `Pending ${podNameOf(makeJob(), 3)}, StartAttempt 3, Requeue`],
    ['a name of another job', job({ podRef: { name: 'other-2' } }), { slotFree: false }, 'Pending -, Requeue'],
    ['goes on', job(named), { attempt: seen }, 'Cloning u, Requeue'],
    ['named by another worker before this one has seen it', job(named), { attempt: attempt(2) }, 'Pending u, Requeue'],
    ['ended by another worker', job({ reason: 'Retrying' }), { attempt: seen }, 'ForgetAttempt, Requeue'],
    ['has another pod', job({ podRef: { name, uid: 'v' } }), { attempt: seen }, 'ForgetAttempt, Requeue'],
    ['fails', job(named), { attempt: fold(seen, failed('Evicted', 'Infrastructure')) }, 'Retrying -, ForgetAttempt, ScheduleRetry, Requeue, Requeue'],
    ['ends', job(named), { attempt: fold(seen, finished()) }, 'Validated u, ForgetAttempt'],
    ['the worker stops', job(named), { attempt: seen, stopping: true }, ''],
    ['suspended while nobody looked', job(named, { suspend: true }), {}, 'ForgetAttempt 2, Suspended -'],
    ['deleted while nobody looked', { ...job(named), metadata: { ...job(named).metadata, deletionTimestamp: formatTime(now) } }, {}, 'ForgetAttempt 2'],
    ['has had its time, and the time for its report', job({ ...named, startTime: formatTime(now - 3_640_000) }), { attempt: seen, attemptSince: now - 3_630_000 }, 'DeadlineExceeded u, ForgetAttempt'],
    ['has had its time, and was just taken up', job({ ...named, startTime: formatTime(now - 3_640_000) }), { attempt: seen, attemptSince: now - 1_000 }, 'Cloning u, Requeue'],
  ]
  for (const [what, of, more, expected] of cases) assert.equal(say(of, more), expected, what)
  assert.equal(statusOf(reconcile(job(named, { suspend: true }), observed({ pods: true }))).attempts, 1, 'what was interrupted does not count')
})

test('the condition of the pod tells why it does not run', () => {
  const podRef = { name: podNameOf(makeJob(), 1), uid: 'u' }
  const job = makeJob({ status: running({ podRef }) })
  const pod = { type: 'pod', ...podRef } as const
  const of = (...seen: Observation[]): Record<string, string> => conditions(statusOf(reconcile(job, observed({ pods: true, attempt: attempt(1, pod, ...seen) }))))
  assert.equal(of(cloning).PodReady, 'True Started')
  assert.deepEqual([of(failed('ImagePullFailed', 'Final')).PodReady, of(failed('ImagePullFailed', 'Final')).SourceReady], ['False ImagePullFailed', 'Unknown NotReached'])
  assert.equal(of(cloning, failed('GitAuthenticationFailed', 'Final')).SourceReady, 'False GitAuthenticationFailed')
  assert.deepEqual([of(cloning, source, failed('Evicted', 'Final')).PodReady, of(cloning, source, failed('Evicted', 'Final')).SourceReady], ['False Evicted', 'True Cloned'])
})
