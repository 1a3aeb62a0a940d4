/** Following a collection of kube-apiserver: a list, then a watch from there, for ever. upstream: client-go/tools/cache/reflector.go */
import type { Clock } from '../src/base/clock.ts'
import type { Log } from '../src/base/log.ts'
import { KubeStatusError, type KubeClient, type KubeJson } from './kube-client.ts'

/** What is followed and who is told. */
export interface Reflection {
  /** The path of the collection. */
  readonly path: string
  readonly fieldSelector?: string
  /** Only the metadata of the objects is asked for. */
  readonly metadataOnly?: true
  /** All that is there: at first, and whenever changes may have been missed. */
  replace(objects: readonly KubeJson[]): void
  /** One object has changed, or has gone. */
  change(object: KubeJson, gone: boolean): void
}

export interface ReflectAround {
  readonly client: KubeClient
  readonly clock: Clock
  readonly log: Log
  readonly signal: AbortSignal
}

const PAGE = 500
const WATCH_SECONDS = 300
// Beyond the end that the server was asked for, the connection is dead.
const IDLE_MS = (WATCH_SECONDS + 30) * 1000
const FIRST_PAUSE_MS = 800
const LONGEST_PAUSE_MS = 30_000
const METADATA_ONLY = { list: 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1', watch: 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1' }

/** Follows until the signal aborts. While kube-apiserver is away nothing changes; it is asked again, at growing intervals of up to half a minute. */
export async function reflect(reflection: Reflection, around: ReflectAround): Promise<void> {
  const { clock, log, signal } = around
  let pause = FIRST_PAUSE_MS
  let resourceVersion = ''
  while (!signal.aborted) {
    try {
      if (resourceVersion === '') {
        const listed = await listAll(reflection, around)
        resourceVersion = listed.resourceVersion
        reflection.replace(listed.objects)
      }
      for await (const version of watchFrom(reflection, resourceVersion, around)) {
        resourceVersion = version
        pause = FIRST_PAUSE_MS
      }
    } catch (err) {
      if (signal.aborted) return
      if (err instanceof KubeStatusError && err.code === 410) resourceVersion = ''
      log.warn('a watch of kube-apiserver has ended, and begins again', { path: reflection.path, err })
      await clock.sleep(pause * (0.5 + clock.random()), signal).catch(() => {})
      pause = Math.min(pause * 2, LONGEST_PAUSE_MS)
    }
  }
}

async function listAll(reflection: Reflection, { client, signal }: ReflectAround): Promise<{ objects: KubeJson[]; resourceVersion: string }> {
  const objects: KubeJson[] = []
  let proceed = ''
  for (;;) {
    const query = queryOf(reflection, { limit: String(PAGE), ...(proceed === '' ? {} : { continue: proceed }) })
    const page = await client.request({ method: 'GET', path: `${reflection.path}?${query}`, signal, ...(reflection.metadataOnly ? { accept: METADATA_ONLY.list } : {}) })
    const { metadata, items } = page as { metadata?: { continue?: string; resourceVersion?: string }; items?: KubeJson[] }
    objects.push(...(items ?? []))
    proceed = metadata?.continue ?? ''
    if (proceed === '') return { objects, resourceVersion: metadata?.resourceVersion ?? '' }
  }
}

// Yields the resourceVersion up to which everything was told.
async function* watchFrom(reflection: Reflection, resourceVersion: string, { client, signal }: ReflectAround): AsyncGenerator<string> {
  const query = queryOf(reflection, { watch: 'true', allowWatchBookmarks: 'true', resourceVersion, timeoutSeconds: String(WATCH_SECONDS) })
  const events = client.watch(`${reflection.path}?${query}`, { signal, idleMs: IDLE_MS, ...(reflection.metadataOnly ? { accept: METADATA_ONLY.watch } : {}) })
  for await (const { type, object } of events) {
    if (type !== 'BOOKMARK') reflection.change(object, type === 'DELETED')
    yield String((object.metadata as KubeJson | undefined)?.resourceVersion ?? resourceVersion)
  }
}

function queryOf({ fieldSelector }: Reflection, parameters: Readonly<Record<string, string>>): URLSearchParams {
  return new URLSearchParams({ ...parameters, ...(fieldSelector === undefined ? {} : { fieldSelector }) })
}
