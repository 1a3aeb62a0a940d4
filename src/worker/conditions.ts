/** The conditions of a job, from what is known of it. Pure. */
import type { AttemptState } from './attempt.ts'
import { type Condition, formatTime, type Job, referenceOf } from './job.ts'
import type { Report } from './report-types.ts'
import { describeIgnoredPodSettings } from './unsupported.ts'

/** What a condition says, without its times. */
export type Finding = Pick<Condition, 'type' | 'status'> & { readonly reason: string; readonly message: string }

/** How the job as a whole stands: the condition Succeeded. */
export type Outcome = { readonly status: 'True' | 'False' | 'Unknown'; readonly reason: string; readonly message: string }

/**
 * The conditions with their times: lastTransitionTime changes only with the status, as upstream
 * (apimachinery/pkg/api/meta.SetStatusCondition). Conditions of other writers stay.
 */
export function setConditions(before: readonly Condition[], findings: readonly Finding[], now: number, generation: number): Condition[] {
  const set = findings.map((finding): Condition => {
    const old = before.find(({ type }) => type === finding.type)
    const since = old?.status === finding.status ? old.lastTransitionTime : undefined
    return { ...finding, observedGeneration: generation, lastTransitionTime: since ?? formatTime(now) }
  })
  const others = before.filter(({ type }) => !OWN.includes(type))
  return [...set, ...others]
}

const OWN = ['Succeeded', 'SourceReady', 'PodReady', 'Executed', 'Compared']

const SOURCE_REASONS = new Set(['NotebookNotFound', 'LFSPointer', 'GoldenNotFound', 'GitAuthenticationFailed', 'HostKeyVerificationFailed', 'RevisionNotFound', 'CredentialsInvalid'])

/** Failures of the pod, whatever of the attempt they have cut short. */
const POD_REASONS = new Set(['ImagePullFailed', 'PodConfigInvalid', 'Unschedulable', 'Evicted', 'PodDeleted'])

/** The findings of a job. `attempt` is absent while there is none, `report` until there is one. */
export function findConditions(job: Job, outcome: Outcome, attempt: AttemptState | undefined, report: Report | undefined): Finding[] {
  const waiting = { status: 'Unknown', reason: outcome.status === 'Unknown' ? outcome.reason : 'NotReached', message: outcome.status === 'Unknown' ? outcome.message : '' } as const
  const findings: Finding[] = [
    { type: 'Succeeded', ...outcome },
    { type: 'SourceReady', ...(findSource(outcome, attempt) ?? waiting) },
    { type: 'PodReady', ...(findPod(job, attempt) ?? waiting) },
    { type: 'Executed', ...(findExecution(report) ?? waiting) },
  ]
  if (referenceOf(job.spec) === 'None') return findings
  return [...findings, { type: 'Compared', ...(findComparison(report) ?? waiting) }]
}

type Said = Omit<Finding, 'type'>

function findSource(outcome: Outcome, attempt: AttemptState | undefined): Said | undefined {
  if (attempt?.source) {
    const { commit, goldenCommit } = attempt.source
    return { status: 'True', reason: 'Cloned', message: `commit ${commit}${goldenCommit !== undefined && goldenCommit !== commit ? `, golden notebook of commit ${goldenCommit}` : ''}` }
  }
  if (attempt?.failure && POD_REASONS.has(attempt.failure.reason)) return undefined
  const failure = attempt?.failure ?? (SOURCE_REASONS.has(outcome.reason) ? outcome : undefined)
  return failure && attempt?.startedAt !== undefined ? { status: 'False', reason: failure.reason, message: failure.message } : undefined
}

function findPod(job: Job, attempt: AttemptState | undefined): Said | undefined {
  if (attempt?.failure && POD_REASONS.has(attempt.failure.reason)) return { status: 'False', reason: attempt.failure.reason, message: attempt.failure.message }
  if (attempt?.pod && attempt.step !== 'Preparing' && attempt.startedAt !== undefined) return { status: 'True', reason: 'Started', message: `pod ${attempt.pod.name}` }
  if (attempt?.runtime) return { status: 'True', reason: 'LocalProcess', message: describeIgnoredPodSettings(job.spec) ?? 'the notebook runs as a process of the worker, without a pod' }
  if (attempt?.failure && attempt.startedAt === undefined) return { status: 'False', reason: attempt.failure.reason, message: attempt.failure.message }
  return undefined
}

/** Reasons of runs that went to their end, whatever the comparison says. */
const COMPLETED = new Set(['Validated', 'OutputMismatch', 'GoldenNotFound'])

function findExecution(report: Report | undefined): Said | undefined {
  if (!report || report.verdict.reason === 'Running') return undefined
  const { reason, message } = report.verdict
  return COMPLETED.has(reason) ? { status: 'True', reason: 'Completed', message: 'the notebook ran to its end' } : { status: 'False', reason, message }
}

function findComparison(report: Report | undefined): Said | undefined {
  if (!report || report.verdict.reason === 'Running') return undefined
  const { verdict, summary } = report
  const counts = `${summary.matched} matched, ${summary.mismatched} mismatched, ${summary.ignored} ignored`
  if (verdict.succeeded) return { status: 'True', reason: 'Matched', message: counts }
  if (summary.mismatched > 0 || verdict.reason === 'OutputMismatch') return { status: 'False', reason: 'OutputMismatch', message: counts }
  if (verdict.reason === 'GoldenNotFound') return { status: 'False', reason: verdict.reason, message: verdict.message }
  return undefined
}
