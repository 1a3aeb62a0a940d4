import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { makeJob } from './job.fixture.ts'
import { judgePod, type PodState } from './judge-pod.ts'
import { cloned, CREATED, CREATED_MS, ended, makePodState, type PodShape, running, waiting } from './pod.fixture.ts'

const say = (state: PodState): string => {
  const failure = 'failure' in state && state.failure ? ` ${state.failure.class} ${state.failure.reason}` : ''
  return `${state.type}${failure}`
}
const judge = (shape: PodShape, seconds = 0, spec: Parameters<typeof makeJob>[0] = {}): PodState => judgePod(makePodState(shape), makeJob(spec).spec, CREATED_MS + seconds * 1000)

const unschedulable = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: '0/1 nodes are available: 1 Insufficient cpu.', lastTransitionTime: CREATED }
const disrupted = { type: 'DisruptionTarget', status: 'True', reason: 'EvictionByEvictionAPI', message: 'Eviction API: evicting' }
const refused = (reason: string, failureClass = 'Final') => ended(1, 'Error', JSON.stringify({ failure: { reason, class: failureClass, message: 'why' } }))
const done = { clone: cloned, execute: ended(), report: ended() }

test('what a pod says of its attempt', () => {
  const cases: [string, PodShape, number, string][] = [
    ['new', {}, 0, 'waiting'],
    ['no node takes it', { conditions: [unschedulable] }, 299, 'waiting'],
    ['no node takes it for long', { conditions: [unschedulable] }, 300, 'failed Final Unschedulable'],
    ['our image is not to be had', { clone: waiting('ErrImagePull') }, 299, 'waiting'],
    ['our image is not to be had for long', { clone: waiting('ImagePullBackOff') }, 300, 'failed Final ImagePullFailed'],
    ['the image of the job', { clone: cloned, execute: waiting('ImagePullBackOff'), report: running }, 300, 'failed Final ImagePullFailed'],
    ['no image name', { clone: cloned, execute: waiting('InvalidImageName') }, 0, 'failed Final ImagePullFailed'],
    ['never pulled', { clone: cloned, execute: waiting('ErrImageNeverPull') }, 0, 'failed Final ImagePullFailed'],
    ['not to be configured, yet', { clone: cloned, execute: waiting('CreateContainerConfigError') }, 59, 'waiting'],
    ['not to be configured', { clone: cloned, execute: waiting('CreateContainerConfigError') }, 60, 'failed Final PodConfigInvalid'],
    ['being made', { clone: waiting('PodInitializing') }, 1000, 'waiting'],
    ['cloning', { clone: running, execute: waiting('PodInitializing') }, 0, 'cloning'],
    ['credentials refused', { clone: refused('GitAuthenticationFailed') }, 0, 'failed Final GitAuthenticationFailed'],
    ['git server away', { phase: 'Failed', clone: refused('RunnerUnavailable', 'Infrastructure') }, 0, 'failed Infrastructure RunnerUnavailable'],
    ['clone tells nonsense', { clone: refused('not a reason') }, 0, 'failed Infrastructure RunnerUnavailable'],
    ['clone tells nothing', { clone: ended(0) }, 0, 'failed Infrastructure RunnerUnavailable'],
    ['clone out of memory', { clone: ended(137, 'OOMKilled') }, 0, 'failed Result OutOfMemory'],
    ['executing', { phase: 'Running', clone: cloned, execute: running, report: running }, 0, 'executing'],
    ['image is pulled', { clone: cloned, execute: waiting('PodInitializing'), report: running }, 0, 'executing'],
    ['no python3', { phase: 'Running', clone: cloned, execute: ended(128, 'StartError', 'exec: "python3": not found'), report: running }, 0, 'failed Final PodConfigInvalid'],
    ['comparing', { phase: 'Running', clone: cloned, execute: ended(), report: running }, 0, 'comparing'],
    ['comparing for ever', { phase: 'Running', clone: cloned, execute: ended(), report: running }, 180, 'failed Result ResultsUnavailable'],
    ['done', { phase: 'Succeeded', ...done }, 0, 'ended'],
    ['out of memory', { phase: 'Failed', ...done, execute: ended(137, 'OOMKilled') }, 0, 'ended Result OutOfMemory'],
    ['a child out of memory, exit status 0', { phase: 'Succeeded', ...done, execute: ended(0, 'OOMKilled') }, 0, 'ended Result OutOfMemory'],
    ['report out of memory', { phase: 'Failed', ...done, report: ended(137, 'OOMKilled') }, 0, 'failed Result ResultsUnavailable'],
    ['report failed', { phase: 'Failed', ...done, report: ended(1) }, 0, 'failed Result ResultsUnavailable'],
    ['runner failed, report made', { phase: 'Failed', ...done, execute: ended(70) }, 0, 'ended'],
    ['deadline, as the pod says', { phase: 'Failed', reason: 'DeadlineExceeded', clone: cloned, execute: ended(137), report: ended(137) }, 0, 'failed Final DeadlineExceeded'],
    ['deadline, with a state that nobody knows', { phase: 'Failed', reason: 'DeadlineExceeded', clone: cloned, execute: ended(137, 'ContainerStatusUnknown') }, 0, 'failed Final DeadlineExceeded'],
    ['evicted by its node', { phase: 'Failed', reason: 'Evicted', message: 'Usage of EmptyDir volume exceeds the limit' }, 0, 'failed Infrastructure Evicted'],
    ['evicted by the API', { phase: 'Running', clone: cloned, execute: running, deleted: true, conditions: [disrupted] }, 0, 'failed Infrastructure Evicted'],
    ['told of an eviction', { phase: 'Running', clone: cloned, execute: running, report: running, conditions: [disrupted] }, 0, 'executing'],
    ['node lost', { phase: 'Failed', reason: 'NodeLost' }, 0, 'failed Infrastructure RunnerUnavailable'],
    ['deleted', { phase: 'Running', clone: cloned, execute: running, deleted: true }, 0, 'failed Infrastructure PodDeleted'],
    ['deleted when it had ended well', { phase: 'Succeeded', ...done, deleted: true }, 0, 'ended'],
    ['ended by its deletion', { phase: 'Failed', ...done, execute: ended(143), deleted: true }, 0, 'failed Infrastructure PodDeleted'],
    ['containers lost', { phase: 'Failed', ...done, execute: ended(137, 'ContainerStatusUnknown') }, 0, 'failed Infrastructure RunnerUnavailable'],
  ]
  for (const [name, shape, seconds, expected] of cases) assert.equal(say(judge(shape, seconds)), expected, name)
})

test('how long an image may fail to be pulled is said by the job, and counts from where it began', () => {
  const backOff = { clone: waiting('ImagePullBackOff') }
  const spec = { spec: { imagePullTimeoutSeconds: 0 } }
  assert.equal(say(judge(backOff, 0, spec)), 'failed Final ImagePullFailed')
  const late = makePodState({ clone: cloned, execute: waiting('ImagePullBackOff') })
  const [clone] = late.status!.initContainerStatuses!
  const finishedAt = new Date(CREATED_MS + 500_000).toISOString()
  const pod = { ...late, status: { ...late.status, initContainerStatuses: [{ ...clone, state: { terminated: { ...clone!.state!.terminated, finishedAt } } }] } }
  const state = judgePod(pod, makeJob().spec, CREATED_MS + 600_000)
  assert.equal(state.type, 'waiting')
  assert.equal('recheckAt' in state && state.recheckAt, CREATED_MS + 800_000)
})

test('the texts name the cause', () => {
  const message = (shape: PodShape, seconds = 0): string => {
    const state = judge(shape, seconds)
    return 'message' in state ? state.message : 'failure' in state && state.failure ? state.failure.message : ''
  }
  assert.equal(message({ conditions: [unschedulable] }), 'no node takes the pod: 0/1 nodes are available: 1 Insufficient cpu.')
  assert.equal(message({ phase: 'Succeeded', ...done, execute: ended(0, 'OOMKilled') }), 'a process of the container execute was killed for lack of memory; its limit is 4Gi')
  assert.equal(message({ clone: refused('GitAuthenticationFailed') }), 'why')
  assert.match(message({ clone: cloned, execute: waiting('ImagePullBackOff', 'Back-off pulling image "x"') }, 300), /^container execute: ImagePullBackOff: Back-off pulling image/)
})

const state = fc.oneof(
  fc.constantFrom(undefined, running, cloned),
  fc.constantFrom('ErrImagePull', 'ImagePullBackOff', 'InvalidImageName', 'CreateContainerConfigError', 'PodInitializing').map((reason) => waiting(reason)),
  fc.tuple(fc.constantFrom(0, 1, 137), fc.constantFrom('Completed', 'Error', 'OOMKilled', 'StartError', 'ContainerStatusUnknown')).map(([code, reason]) => ended(code, reason)),
)
/** Any pod, whether there can be one or not. */
const anyPod: fc.Arbitrary<PodShape> = fc.record(
  {
    phase: fc.constantFrom('Pending', 'Running', 'Succeeded', 'Failed', 'Unknown'),
    reason: fc.constantFrom('Evicted', 'DeadlineExceeded', 'NodeLost', ''),
    clone: state,
    execute: state,
    report: state,
    conditions: fc.subarray([unschedulable, disrupted]),
    deleted: fc.boolean(),
  },
  { requiredKeys: [] },
).map((shape) => Object.fromEntries(Object.entries(shape).filter(([, value]) => value !== undefined)) as PodShape)

test('a log is only believed of a pod whose containers have all ended, and whose report ended well', () => {
  fc.assert(
    fc.property(anyPod, fc.nat(1000), (shape, seconds) => {
      const found = judge(shape, seconds)
      if (found.type !== 'ended') return
      assert.ok(shape.phase === 'Succeeded' || shape.phase === 'Failed')
      assert.equal(shape.clone?.terminated?.exitCode, 0)
      assert.ok(shape.execute?.terminated && shape.report?.terminated)
      if (!found.failure) assert.ok(shape.report.terminated.exitCode === 0 && shape.execute.terminated.reason !== 'OOMKilled')
    }),
    { numRuns: 2_000 },
  )
})

test('a pod whose containers have ended is judged; one that waits with a limit does not wait for ever', () => {
  fc.assert(
    fc.property(anyPod, (shape) => {
      const soon = judge(shape)
      if (shape.phase === 'Succeeded' || shape.phase === 'Failed') assert.ok(soon.type === 'ended' || soon.type === 'failed', soon.type)
      if ('recheckAt' in soon && soon.recheckAt !== undefined) assert.equal(judge(shape, (soon.recheckAt - CREATED_MS) / 1000).type, 'failed')
    }),
    { numRuns: 2_000 },
  )
})
