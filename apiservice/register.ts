/** Keeping the APIService objects of this server right. They are updated in place and never deleted: an API must outlive the pods that serve it. */
import { isDeepStrictEqual } from 'node:util'
import type { Clock } from '../src/base/clock.ts'
import type { Log } from '../src/base/log.ts'
import { KubeStatusError, type KubeClient, type KubeJson } from './kube-client.ts'
import type { ApiService } from './registration.ts'

const COLLECTION = '/apis/apiregistration.k8s.io/v1/apiservices'
// With it kube-apiserver takes the object for its own, and would turn it back. upstream: kube-aggregator/pkg/controllers/autoregister
const AUTOMANAGED = 'kube-aggregator.kubernetes.io/automanaged'
const RETRIES = 5

/** Another API is where this one would be. */
export class NameTaken extends Error {
  override readonly name = 'NameTaken'
}

/**
 * Rejects with NameTaken when one of the resources (`plural.group`) is there as a CustomResourceDefinition: kube-apiserver serves a version of a group
 * either from it or from here, and its objects would be out of sight.
 */
export async function refuseDefinitions(client: KubeClient, resources: readonly string[]): Promise<void> {
  for (const name of resources) {
    const there = await read(client, `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${encodeURIComponent(name)}`)
    if (there) throw new NameTaken(`the cluster has a CustomResourceDefinition ${name}: its objects would be out of sight as soon as this server is registered; back them up and delete it first`)
  }
}

/** Makes one APIService what it should be: creates it, or updates in place what differs. Returns what was done. */
export async function register(client: KubeClient, wanted: ApiService): Promise<'created' | 'updated' | 'unchanged'> {
  const path = `${COLLECTION}/${wanted.metadata.name}`
  for (let attempt = 1; ; attempt++) {
    try {
      const live = await read(client, path)
      if (!live) {
        await client.request({ method: 'POST', path: COLLECTION, body: wanted })
        return 'created'
      }
      const next = merge(live, wanted)
      if (isDeepStrictEqual(next, live)) return 'unchanged'
      await client.request({ method: 'PUT', path, body: next })
      return 'updated'
    } catch (error) {
      // Another replica, or its controller, was quicker.
      if (!(error instanceof KubeStatusError && error.code === 409) || attempt === RETRIES) throw error
    }
  }
}

/** The live object with what is ours. A caBundle that we do not know stays. */
export function merge(live: KubeJson, wanted: ApiService): KubeJson {
  const { labels, ...metadata } = live.metadata as KubeJson & { labels?: Readonly<Record<string, string>> }
  const { [AUTOMANAGED]: _, ...kept } = labels ?? {}
  const spec = live.spec as KubeJson
  // Nothing may be given besides a caBundle, and with one that is not ours nothing is known of the other.
  const { insecureSkipTLSVerify: insecure, ...rest } = spec
  const trust = wanted.spec.caBundle !== undefined || insecure !== true ? {} : { insecureSkipTLSVerify: true }
  return {
    ...live,
    metadata: { ...metadata, ...(Object.keys(kept).length > 0 ? { labels: kept } : {}) },
    spec: { ...rest, ...trust, ...wanted.spec },
  }
}

/** A registration that is kept. */
export interface Registration {
  /** What is wanted has changed: looks at once. */
  renew(): void
  /** Resolves when nothing is looked at any more. */
  readonly ended: Promise<void>
}

/** Registers all, and looks again every `everyMs` until the signal aborts. `wanted` is asked each time. */
export function keepRegistered(
  wanted: () => readonly ApiService[],
  { client, clock, log, signal, everyMs, check }: {
    readonly client: KubeClient
    readonly clock: Clock
    readonly log: Log
    readonly signal: AbortSignal
    readonly everyMs: number
    /** Must hold before anything is registered. */
    check(): Promise<void>
  },
): Registration {
  let waiting = new AbortController()
  const look = async (): Promise<void> => {
    try {
      await check()
      for (const service of wanted()) {
        const done = await register(client, service)
        if (done !== 'unchanged') log.info('APIService registered', { name: service.metadata.name, done })
      }
    } catch (err) {
      if (!signal.aborted) log.warn('the registration at kube-apiserver cannot be kept right, and is tried again', { err })
    }
  }
  const keep = async (): Promise<void> => {
    while (!signal.aborted) {
      waiting = new AbortController()
      await look()
      await clock.sleep(everyMs, AbortSignal.any([signal, waiting.signal])).catch(() => {})
    }
  }
  return { renew: () => waiting.abort(), ended: keep() }
}

async function read(client: KubeClient, path: string): Promise<KubeJson | undefined> {
  try {
    return await client.request({ method: 'GET', path })
  } catch (error) {
    if (error instanceof KubeStatusError && error.code === 404) return undefined
    throw error
  }
}
