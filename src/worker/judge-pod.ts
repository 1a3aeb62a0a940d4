/**
 * What the pod of an attempt says about it: a pure function of the pod and the time, so that any worker that comes to it
 * later says the same.
 */
import { getKey, isObject } from '../api/object.ts'
import type { AttemptFailure, FailureClass } from './attempt-failure.ts'
import { quote } from './git-source.ts'
import { type JobSpec, parseTime } from './job.ts'
import { type ContainerStatus, containerOf, isTerminal, type Pod } from './pod.ts'

/** What the clone container found. */
export type PodSource = { readonly commit: string; readonly goldenCommit?: string }

/** How far the pod is. `recheckAt`: when time alone may change that, in milliseconds since the epoch. */
export type PodState =
  | { readonly type: 'waiting'; readonly message: string; readonly recheckAt?: number }
  | { readonly type: 'cloning'; readonly recheckAt?: number }
  | { readonly type: 'executing'; readonly source: PodSource; readonly recheckAt?: number }
  | { readonly type: 'comparing'; readonly source: PodSource; readonly recheckAt: number }
  /** All has ended: the log of the container report decides, unless `failure` overrules whatever it says. */
  | { readonly type: 'ended'; readonly source: PodSource; readonly failure?: AttemptFailure }
  | { readonly type: 'failed'; readonly failure: AttemptFailure }

/** How long a node may be wanted for; the cluster may be growing one. */
const UNSCHEDULABLE_MS = 300_000
/** What a volume or a Secret that is made a little later than the job needs. */
const CONFIG_GRACE_MS = 60_000
/** How long the report may take when the notebook has ended. */
const REPORT_MS = 180_000
const PULL_REASONS = new Set(['ErrImagePull', 'ImagePullBackOff', 'ImageInspectError', 'RegistryUnavailable'])
const CONFIG_REASONS = new Set(['CreateContainerConfigError', 'CreateContainerError', 'RunContainerError', 'CrashLoopBackOff'])

const failed = (failureClass: FailureClass, reason: string, message: string): PodState => ({ type: 'failed', failure: { reason, message, class: failureClass } })

/** Judges a pod. */
export function judgePod(pod: Pod, spec: JobSpec, now: number): PodState {
  const lost = findLostPod(pod, spec)
  if (lost) return lost
  const clone = containerOf(pod, 'clone')?.state?.terminated
  if (clone && clone.exitCode !== 0) return judgeClone(clone)
  if (clone?.reason === 'OOMKilled') return outOfMemory('clone', undefined)
  const source = clone && readSource(clone.message)
  if (clone && !source) return failed('Infrastructure', 'RunnerUnavailable', 'the container clone ended without telling what it cloned')
  if (isTerminal(pod)) return source ? judgeEnd(pod, spec, source) : failed('Infrastructure', 'RunnerUnavailable', `the pod ended before it cloned${because(pod.status?.reason, pod.status?.message)}`)
  const waiting = findWaiting(pod, spec, now)
  if (waiting) return waiting
  if (!source) return containerOf(pod, 'clone')?.state?.running ? { type: 'cloning' } : { type: 'waiting', message: 'the pod is being started' }
  const execute = containerOf(pod, 'execute')?.state?.terminated
  return execute ? awaitReport(execute, source, now) : { type: 'executing', source }
}

function awaitReport(execute: Terminated, source: PodSource, now: number): PodState {
  // the container report cannot see that its neighbour never ran
  if (isUnstartable(execute)) return unstartable(execute)
  const recheckAt = (parseTime(execute.finishedAt) ?? now) + REPORT_MS
  return now < recheckAt ? { type: 'comparing', source, recheckAt } : failed('Result', 'ResultsUnavailable', `the container report did not end within ${REPORT_MS / 1000} s`)
}

const isUnstartable = ({ reason }: Terminated): boolean => reason === 'StartError' || reason === 'ContainerCannotRun'

const unstartable = ({ message }: Terminated): PodState => failed('Final', 'PodConfigInvalid', `the image cannot run python3${because(undefined, message)}`)

/** The pod as a whole was ended by somebody else than its containers. A passed deadline is told here, and not by a container. */
function findLostPod(pod: Pod, spec: JobSpec): PodState | undefined {
  const { phase, reason, message, conditions } = pod.status ?? {}
  const disruption = conditions?.find(({ type, status }) => type === 'DisruptionTarget' && status === 'True')
  if (phase === 'Failed' && reason === 'DeadlineExceeded') return failed('Final', 'DeadlineExceeded', `the job did not end within ${spec.activeDeadlineSeconds ?? 3600} s`)
  // one that succeeded is being cleared away; one that failed was ended by its deletion
  const deleted = pod.metadata.deletionTimestamp !== undefined && phase !== 'Succeeded'
  if (disruption && (phase === 'Failed' || deleted)) return failed('Infrastructure', 'Evicted', `the pod was evicted${because(disruption.reason, disruption.message)}`)
  // of a reason of its own a pod speaks only when it was ended from outside: Evicted, NodeLost, NodeShutdown, UnexpectedAdmissionError, OutOfcpu, …
  if (phase === 'Failed' && reason !== undefined && reason !== '') {
    if (reason === 'Evicted') return failed('Infrastructure', 'Evicted', `the pod was evicted${because(undefined, message)}`)
    return failed('Infrastructure', 'RunnerUnavailable', `the node has ended the pod${because(reason, message)}`)
  }
  return deleted ? failed('Infrastructure', 'PodDeleted', 'the pod was deleted before it had ended') : undefined
}

type Terminated = NonNullable<NonNullable<ContainerStatus['state']>['terminated']>

function judgeClone(clone: Terminated): PodState {
  if (clone.reason === 'OOMKilled') return outOfMemory('clone', undefined)
  const told = readJson(clone.message)
  const failure = told && getKey(told, 'failure')
  if (isObject(failure)) {
    const [reason, message, failureClass] = [getKey(failure, 'reason'), getKey(failure, 'message'), getKey(failure, 'class')]
    const known = (['Result', 'Infrastructure', 'Final'] as const).find((name) => name === failureClass)
    if (known && typeof reason === 'string' && /^[A-Z][A-Za-z]{1,63}$/.test(reason) && typeof message === 'string') return failed(known, reason, message.slice(0, 2048))
  }
  return failed('Infrastructure', 'RunnerUnavailable', `the container clone ended with exit status ${clone.exitCode ?? '?'}${because(clone.reason, clone.message)}`)
}

function judgeEnd(pod: Pod, spec: JobSpec, source: PodSource): PodState {
  const [execute, report] = ['execute', 'report'].map((name) => containerOf(pod, name)?.state?.terminated)
  if (!execute || !report) return failed('Infrastructure', 'RunnerUnavailable', `the node does not tell how the containers of the pod ended${because(pod.status?.reason, pod.status?.message)}`)
  if (isUnstartable(execute)) return unstartable(execute)
  if (execute.reason === 'ContainerStatusUnknown' || report.reason === 'ContainerStatusUnknown') {
    return failed('Infrastructure', 'RunnerUnavailable', 'the node has lost the containers of the pod')
  }
  // also with exit status 0: a child was killed, and whoever started it went on as if nothing had happened
  if (execute.reason === 'OOMKilled') return { ...outOfMemory('execute', spec), type: 'ended', source }
  if (report.reason === 'OOMKilled') return failed('Result', 'ResultsUnavailable', 'the container report ran out of memory')
  if (report.exitCode !== 0) return failed('Result', 'ResultsUnavailable', `the container report ended with exit status ${report.exitCode ?? '?'}${because(report.reason, report.message)}`)
  return { type: 'ended', source }
}

function outOfMemory(container: string, spec: JobSpec | undefined): Extract<PodState, { type: 'failed' }> {
  const limit = spec?.podTemplate?.resources?.limits?.memory ?? (spec ? '4Gi' : undefined)
  const message = `a process of the container ${container} was killed for lack of memory${limit === undefined ? '' : `; its limit is ${String(limit)}`}`
  return { type: 'failed', failure: { reason: 'OutOfMemory', message, class: 'Result' } }
}

/** Why no container can start, and until when that is borne. */
function findWaiting(pod: Pod, spec: JobSpec, now: number): PodState | undefined {
  const created = parseTime(pod.metadata.creationTimestamp) ?? now
  const scheduled = pod.status?.conditions?.find(({ type }) => type === 'PodScheduled')
  if (scheduled?.status === 'False' && scheduled.reason === 'Unschedulable') {
    const since = parseTime(scheduled.lastTransitionTime) ?? created
    return bear(`no node takes the pod${because(undefined, scheduled.message)}`, 'Final', 'Unschedulable', since + UNSCHEDULABLE_MS, now)
  }
  const all = [...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])]
  for (const { name = '', state } of all) {
    const { reason = '', message } = state?.waiting ?? {}
    const text = `container ${quote(name).slice(1, -1)}: ${quote(reason).slice(1, -1)}${because(undefined, message)}`
    if (reason === 'InvalidImageName' || reason === 'ErrImageNeverPull') return failed('Final', 'ImagePullFailed', text)
    const since = waitsSince(pod, created)
    if (PULL_REASONS.has(reason)) return bear(text, 'Final', 'ImagePullFailed', since + (spec.imagePullTimeoutSeconds ?? 300) * 1000, now)
    if (CONFIG_REASONS.has(reason)) return bear(text, 'Final', 'PodConfigInvalid', since + CONFIG_GRACE_MS, now)
  }
  return undefined
}

/** When the containers that now wait began to: the pod was given to its node, or the last container before them ended. */
function waitsSince(pod: Pod, created: number): number {
  const ends = (pod.status?.initContainerStatuses ?? []).map(({ state }) => parseTime(state?.terminated?.finishedAt))
  return Math.max(created, parseTime(pod.status?.startTime) ?? created, ...ends.filter((end) => end !== undefined))
}

function bear(message: string, failureClass: FailureClass, reason: string, until: number, now: number): PodState {
  return now >= until ? failed(failureClass, reason, message) : { type: 'waiting', message, recheckAt: until }
}

function readSource(message: string | undefined): PodSource | undefined {
  const told = readJson(message)
  const source = told && getKey(told, 'source')
  if (!isObject(source)) return undefined
  const [commit, goldenCommit] = [getKey(source, 'commit'), getKey(source, 'goldenCommit')]
  const isCommit = (value: unknown): value is string => typeof value === 'string' && /^[0-9a-f]{40,64}$/.test(value)
  return isCommit(commit) ? { commit, ...(isCommit(goldenCommit) ? { goldenCommit } : {}) } : undefined
}

function readJson(text: string | undefined) {
  try {
    const value: unknown = JSON.parse(text ?? '')
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

function because(reason: string | undefined, message: string | undefined): string {
  const texts = [reason, message?.trim().split('\n').at(-1)].filter((text) => text !== undefined && text !== '')
  return texts.length === 0 ? '' : `: ${quote(texts.join(': ')).slice(1, -1)}`
}
