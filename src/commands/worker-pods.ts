/** Runs the worker with pods of a cluster, beside others of which one leads. */
import { hostname } from 'node:os'
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { jobClientOf, openTransport } from '../worker/api-client.ts'
import { runController } from '../worker/controller.ts'
import { runLeaderElection } from '../worker/leader-election.ts'
import { openLeaseClient } from '../worker/lease-client.ts'
import { openPodClient } from '../worker/pod-client.ts'
import { openPodExecutor } from '../worker/pod-executor.ts'
import type { PodSettings } from '../worker/pod-manifest.ts'

export interface WorkerPodsOptions {
  /** Path of the kubeconfig, or IN_CLUSTER. */
  readonly kubeconfig: string
  readonly settings: PodSettings
  /** The only namespace whose jobs are run. */
  readonly namespace?: string
  readonly lease: { readonly namespace: string; readonly name: string }
  /** How many pods run at once. */
  readonly concurrency: number
  /** Bytes that the status of a job may have, where the API keeps less than it takes. */
  readonly maxStatusBytes?: number
  readonly log: Log
  readonly clock: Clock
  readonly signal: AbortSignal
}

/** Runs until the signal aborts. Pods that run then go on; the next leader takes them up. */
export async function runWorkerPods(options: WorkerPodsOptions): Promise<void> {
  const { kubeconfig, settings, namespace, lease, concurrency, maxStatusBytes, log, clock, signal } = options
  const transport = openTransport(kubeconfig, 'mlops-worker')
  const client = jobClientOf(transport, namespace)
  const lead = async (term: AbortSignal): Promise<void> => {
    const executor = await openPodExecutor({ client: openPodClient(transport, namespace), settings, clock, log }, term)
    await runController({ client, executor, concurrency, fenced: true, ...(maxStatusBytes !== undefined && { maxStatusBytes }), clock, log, signal: term })
  }
  try {
    await runLeaderElection({ leases: openLeaseClient(transport, lease.namespace, lease.name), identity: `${hostname()}_${clock.uuid()}`, lead, clock, log, signal })
  } finally {
    transport.close()
  }
}
