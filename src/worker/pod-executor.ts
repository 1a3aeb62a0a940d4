/** Runs attempts as pods of a cluster. They outlive the worker: the next one takes them up by their names. */
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { AsyncQueue } from './async-queue.ts'
import { failureOf } from './attempt-failure.ts'
import type { AttemptRequest, Executor, Observation } from './executor.ts'
import type { Job } from './job.ts'
import { isGated, isTerminal, type Pod, podNameOf } from './pod.ts'
import { runPodAttempt } from './pod-attempt.ts'
import { PodCache } from './pod-cache.ts'
import type { PodClient } from './pod-client.ts'
import type { PodSettings } from './pod-manifest.ts'
import { reflect } from './reflector.ts'

export interface PodExecutorOptions {
  readonly client: PodClient
  readonly settings: PodSettings
  readonly clock: Clock
  readonly log: Log
}

type LiveAttempt = { readonly request: AttemptRequest; readonly observations: AsyncQueue<Observation>; readonly abort: AbortController; podUid?: string; done: Promise<void> }

/**
 * Opens the executor; resolves when it knows all pods that there are. A pod that has ended stays with its job, for its
 * log, and goes with it; one that has not is deleted when its attempt is cancelled.
 */
export async function openPodExecutor(options: PodExecutorOptions, signal: AbortSignal): Promise<Executor> {
  const { client, clock, log } = options
  const cache = new PodCache()
  const closing = new AbortController()
  const watching = AbortSignal.any([closing.signal, signal])
  const live = new Map<string, LiveAttempt>()
  let reflecting = Promise.resolve()
  await new Promise<void>((resolve) => {
    watching.addEventListener('abort', () => resolve(), { once: true })
    const onList = (pods: readonly Pod[]): void => {
      cache.replace(pods)
      resolve()
    }
    reflecting = reflect<Pod>({ client, clock, log, signal: watching, onList, onChange: (pod) => cache.set(pod), onDelete: (pod) => cache.remove(pod) })
  })
  /** Ends the pod that the status names, or this worker has seen; and one that was never let in. */
  const remove = async (job: Job, number: number, own?: LiveAttempt): Promise<void> => {
    const { namespace = '' } = job.metadata
    const name = podNameOf(job, number)
    // what this worker has just created may not have come back to it yet
    const pod = own ? await client.read(namespace, name) : cache.get(`${namespace}/${name}`)
    const ours = pod?.metadata.ownerReferences?.some(({ uid }) => uid === job.metadata.uid)
    if (!pod || !ours || isTerminal(pod)) return
    const uid = own?.podUid ?? (job.status?.podRef?.name === name ? job.status.podRef.uid : undefined)
    if (pod.metadata.uid === uid || isGated(pod)) await client.delete(namespace, name, pod.metadata.uid ?? '')
  }
  return {
    pods: true,
    start: (request) => {
      const attempt: LiveAttempt = { request, observations: new AsyncQueue<Observation>(), abort: new AbortController(), done: Promise.resolve() }
      live.set(request.id, attempt)
      attempt.done = runToEnd(options, cache, attempt)
    },
    observe: (id) => live.get(id)?.observations,
    cancel: async (id) => {
      const attempt = live.get(id)
      if (!attempt) return
      attempt.abort.abort(new Error('the attempt was cancelled'))
      await attempt.done
      // forgotten only then: what could not be deleted is tried again
      await remove(attempt.request.job, attempt.request.number, attempt)
      live.delete(id)
    },
    cancelPod: (job, number) => remove(job, number),
    close: async () => {
      closing.abort(new Error('the worker stops'))
      for (const { abort } of live.values()) abort.abort(new Error('the worker stops'))
      await Promise.all([...live.values()].map(({ done }) => done))
      await reflecting
    },
  }
}

async function runToEnd(options: PodExecutorOptions, cache: PodCache, attempt: LiveAttempt): Promise<void> {
  const { request, observations, abort } = attempt
  const emit = (observation: Observation): void => {
    if (observation.type === 'pod') attempt.podUid = observation.uid
    if (!abort.signal.aborted) observations.push(observation)
  }
  try {
    await runPodAttempt({ ...options, request, cache, emit, signal: abort.signal })
  } catch (error) {
    emit({ type: 'failed', failure: failureOf(error) })
  }
  observations.close()
}
