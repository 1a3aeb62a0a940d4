/** A pod as the worker sees it, and the names of what belongs to an attempt. */
import { createHash } from 'node:crypto'
import type { Job } from './job.ts'

/** core/v1 ContainerStatus, as far as it is read. Everything may be missing. */
export type ContainerStatus = {
  readonly name?: string
  readonly imageID?: string
  readonly state?: {
    readonly waiting?: { readonly reason?: string; readonly message?: string }
    readonly running?: { readonly startedAt?: string }
    readonly terminated?: {
      readonly exitCode?: number
      readonly signal?: number
      readonly reason?: string
      readonly message?: string
      readonly startedAt?: string
      readonly finishedAt?: string
    }
  }
}

/** core/v1 Pod, as far as it is read. */
export type Pod = {
  readonly metadata: {
    readonly name?: string
    readonly namespace?: string
    readonly uid?: string
    readonly resourceVersion?: string
    readonly creationTimestamp?: string
    readonly deletionTimestamp?: string
    readonly labels?: Readonly<Record<string, string>>
    readonly ownerReferences?: readonly { readonly uid?: string }[]
  }
  readonly spec?: { readonly schedulingGates?: readonly { readonly name?: string }[]; readonly nodeName?: string }
  readonly status?: {
    readonly phase?: string
    readonly reason?: string
    readonly message?: string
    readonly startTime?: string
    readonly conditions?: readonly { readonly type?: string; readonly status?: string; readonly reason?: string; readonly message?: string; readonly lastTransitionTime?: string }[]
    readonly initContainerStatuses?: readonly ContainerStatus[]
    readonly containerStatuses?: readonly ContainerStatus[]
  }
}

/** The label of every pod of the worker; its value is the uid of the job. */
export const JOB_LABEL = 'mlops.dev/job-uid'
/** Holds a new pod back until its attempt was seen to be the current one: see admit in pod-attempt.ts. */
export const GATE = 'mlops.dev/attempt'

const MAX_READABLE = 40

/**
 * The name of the pod of an attempt: the same for all workers, so that an attempt has at most one pod, and another one
 * for a job that was made again under the same name. At most 63 characters, a DNS label.
 */
export function podNameOf(job: Job, number: number): string {
  const { name = '', uid = '' } = job.metadata
  const readable = name.slice(0, MAX_READABLE).replaceAll('.', '-').replace(/[^a-z0-9-]/g, '').replace(/^-+|-+$/g, '')
  return `${readable === '' ? 'job' : readable}-${createHash('sha256').update(uid).digest('hex').slice(0, 10)}-${number}`
}

/** `namespace/name`. */
export function podKey(pod: Pod): string {
  return `${pod.metadata.namespace ?? ''}/${pod.metadata.name ?? ''}`
}

/** No container of it runs any more, or ever will. */
export function isTerminal(pod: Pod): boolean {
  return pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed'
}

/** Whether it still waits to be let in. */
export function isGated(pod: Pod): boolean {
  return pod.spec?.schedulingGates?.some(({ name }) => name === GATE) ?? false
}

/** The status of a container, of either kind. */
export function containerOf(pod: Pod, name: string): ContainerStatus | undefined {
  return [...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])].find((status) => status.name === name)
}
