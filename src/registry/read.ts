/**
 * get and list: from the watch cache at a revision that satisfies the request, else from the store at that revision.
 * upstream: apiserver/pkg/storage/cacher/cacher.go: Get, GetList; storage/etcd3/store.go: GetList
 */
import { parseStored, spliceRevision } from '../api/codec.ts'
import { decodeContinue, encodeContinue, expiredContinue } from '../api/continue-token.ts'
import type { KubeObject } from '../api/object.ts'
import { badRequest, expired, goQuote, StatusError, timeout, tooLargeResourceVersion } from '../api/status.ts'
import { Compacted, FutureRevision } from '../../storage/backend.ts'
import type { CacheEntry, ReadyBytes, Snapshot } from '../../storage/watch-cache.ts'
import { refusal } from './commit-object.ts'
import { buildFilter, type Scope } from './filter.ts'
import type { ListOptions } from './list-options.ts'
import { parseResourceVersion, parseUintError, toRevision } from './resource-version.ts'
import { cachedEntry, freshen, readable, undecodableStatus, waitForRevision, type ResourceStore } from './resource-store.ts'

/** One page of a list, in key order. */
export interface Page {
  readonly revision: number
  readonly entries: readonly CacheEntry[]
  readonly continue: string
  readonly remainingItemCount?: number
}

/** Reads one object: the latest ("" ), any ("0"), or one not older than a resourceVersion. */
export async function get(store: ResourceStore, namespace: string, name: string, resourceVersion: string): Promise<CacheEntry> {
  const wanted = parseResourceVersion(resourceVersion)
  if (resourceVersion === '') await freshen(store)
  else await waitForRevision(store, wanted, resourceVersion)
  return cachedEntry(store, namespace, name)
}

/** Lists objects. The options are validated already. */
export async function list(store: ResourceStore, scope: Scope, options: ListOptions): Promise<Page> {
  const filter = buildFilter(store, scope)
  const single = filter.key !== undefined
  const base = scope.namespace === '' || store.definition.scope !== 'Namespaced' ? '' : `${scope.namespace}/`
  const limit = single || options.limit <= 0 ? undefined : options.limit
  const read = { ...filter, ...(limit ? { limit } : {}) }
  try {
    if (options.continue !== '') {
      const token = decodeContinue(options.continue)
      if (!single) return await nextPage(store, base, read, options, token)
    }
    checkListRevision(options.resourceVersion)
    const snapshot = await firstPage(store, read, options)
    return page(snapshot, base)
  } catch (error) {
    throw listFailure(error, options)
  }
}

type Read = Parameters<ResourceStore['cache']['list']>[0]

async function firstPage(store: ResourceStore, read: Read, options: ListOptions): Promise<Snapshot> {
  const { resourceVersion, resourceVersionMatch: match } = options
  if (resourceVersion === '') {
    await freshen(store)
    return store.cache.list(read)
  }
  if (resourceVersion === '0') {
    const { limit: _ignored, ...all } = read
    return store.cache.list(all)
  }
  const revision = toRevision(resourceVersion)
  await waitForRevision(store, revision, resourceVersion)
  const legacy = match === '' && options.limit > 0
  if (match === 'Exact' || (legacy && read.key === undefined)) return await store.cache.listAt(revision, read)
  // One object is read as it is now. upstream: storage.ValidateListOptions
  if (legacy) await freshen(store)
  return store.cache.list(read)
}

async function nextPage(store: ResourceStore, base: string, read: Read, options: ListOptions, token: ReturnType<typeof decodeContinue>): Promise<Page> {
  if (options.resourceVersion !== '' && options.resourceVersion !== '0') throw badRequest('specifying resource version is not allowed when using continue')
  const from = { ...read, startKey: base + token.start }
  if (token.revision === undefined) {
    await freshen(store)
    return page(store.cache.list(from), base)
  }
  try {
    return page(await store.cache.listAt(token.revision, from), base)
  } catch (error) {
    if (error instanceof Compacted) throw expiredContinue(token)
    throw error
  }
}

function page(snapshot: Snapshot, base: string): Page {
  const last = snapshot.entries.at(-1)
  const token = snapshot.nextKey === undefined || !last ? '' : encodeContinue(last.key.slice(base.length), snapshot.revision)
  return {
    revision: snapshot.revision,
    entries: snapshot.entries,
    continue: token,
    ...(token !== '' && snapshot.remaining !== undefined ? { remainingItemCount: snapshot.remaining } : {}),
  }
}

function checkListRevision(text: string): void {
  const error = text === '' ? undefined : parseUintError(text)
  if (error) throw badRequest(`invalid resource version: resourceVersion: Invalid value: ${goQuote(text)}: ${error}`)
}

function listFailure(error: unknown, options: ListOptions): unknown {
  if (error instanceof StatusError) return error
  if (error instanceof Compacted) return expired('The resourceVersion for the provided list is too old.')
  if (error instanceof FutureRevision) return tooLargeResourceVersion(BigInt(options.resourceVersion || '0'), error.currentRevision)
  if (error instanceof DOMException && error.name === 'TimeoutError') return timeout('request did not complete within requested timeout - context deadline exceeded')
  return refusal(undecodableStatus(error))
}

/** The JSON of a cached entry in a version. Throws 500 for one that cannot be decoded. */
export function encodeEntry(store: ResourceStore, entry: CacheEntry, version: string) {
  return readable(() => store.cache.encode(entry, version))
}

/** A ready object, parsed, with its resourceVersion. */
export function parseReady(ready: ReadyBytes, revision: number | string): KubeObject {
  return parseStored(spliceRevision(ready.bytes, ready.place, revision)) as KubeObject
}
