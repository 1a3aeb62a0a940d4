/** Pods in states as a kubelet writes them. */
import { type ContainerStatus, JOB_LABEL, type Pod } from './pod.ts'

/** When the pods of this file were created. */
export const CREATED = '2026-01-01T00:00:00Z'
/** The same in milliseconds since the epoch. */
export const CREATED_MS = Date.parse(CREATED)

type State = NonNullable<ContainerStatus['state']>

/** A state for each container. */
export const running: State = { running: { startedAt: CREATED } }
/** Waits for a reason. */
export const waiting = (reason: string, message = ''): State => ({ waiting: { reason, message } })
/** Has ended. */
export const ended = (exitCode = 0, reason = exitCode === 0 ? 'Completed' : 'Error', message = ''): State => ({
  terminated: { exitCode, reason, message, startedAt: CREATED, finishedAt: CREATED },
})
/** clone that has fetched a commit. */
export const cloned: State = ended(0, 'Completed', JSON.stringify({ source: { commit: 'c'.repeat(40) } }))

export type PodShape = {
  phase?: string
  reason?: string
  message?: string
  clone?: State
  execute?: State
  report?: State
  conditions?: NonNullable<Pod['status']>['conditions']
  deleted?: boolean
  jobUid?: string
  name?: string
  uid?: string
}

/** A pod. */
export function makePodState({ phase = 'Pending', reason, message, clone, execute, report, conditions, deleted, jobUid = 'uid-a', name = 'pod', uid = 'pod-uid' }: PodShape): Pod {
  const status = (container: string, state: State | undefined): ContainerStatus[] => (state ? [{ name: container, state }] : [])
  return {
    metadata: {
      name,
      namespace: 'default',
      uid,
      creationTimestamp: CREATED,
      labels: { [JOB_LABEL]: jobUid },
      ownerReferences: [{ uid: jobUid }],
      ...(deleted ? { deletionTimestamp: CREATED } : {}),
    },
    spec: {},
    status: {
      phase,
      ...(reason === undefined ? {} : { reason }),
      ...(message === undefined ? {} : { message }),
      ...(conditions ? { conditions } : {}),
      startTime: CREATED,
      initContainerStatuses: status('clone', clone),
      containerStatuses: [...status('execute', execute), ...status('report', report)],
    },
  }
}
