/**
 * The write of one object: the commit that compares the object's revision and the fence, and what its failures mean.
 * An unknown outcome is read back and decided, never sent again.
 */
import { OutOfSpace, TooLarge, Unavailable, UnknownOutcome, type KeyValue } from '../../storage/backend.ts'
import { commitFenced, FenceUnreadable, UndecodableStoredVersions, type FenceRecord } from '../../storage/fence.ts'
import { withoutManagedFields } from '../api/managed-fields/update.ts'
import type { JsonObject, KubeObject } from '../api/object.ts'
import { insufficientStorage, requestEntityTooLarge, serviceUnavailable, timeout } from '../api/status.ts'
import type { ResourceStore } from './resource-store.ts'

/** Largest stored value. upstream: etcd's default request limit of 1.5 MiB */
export const MAX_STORED_BYTES = 1_572_864

/** What is to be written at a key that must still be at `expected` (0: absent). Without `hub` the key is deleted. */
export interface ObjectWrite {
  readonly key: string
  readonly expected: number
  readonly hub?: KubeObject
  /** See StorageCodec.seal. */
  readonly unread?: JsonObject | undefined
  /** Without managedFields rather than not at all, when it is too large with them. upstream: registry.Store's retry without managedFields, which apply does not have */
  readonly mayLoseManagedFields?: boolean
  /** The value at `expected`: equal bytes write nothing, unless they are read as something else. */
  readonly current?: Uint8Array
  /** What is read of it, in hub form, as the request's version has it. upstream: etcd3 store.GuaranteedUpdate compares with its version's cache, then with what is stored */
  readonly before?: () => KubeObject
}

export type WriteOutcome =
  | { readonly kind: 'written' | 'unchanged'; readonly revision: number; readonly value: Uint8Array }
  /** Somebody else was faster; `live` is what is there now. */
  | { readonly kind: 'lost'; readonly live: KeyValue | undefined }

const FENCE_RETRIES = 3

/** Writes or deletes one object. Throws a StatusError when the store refuses. */
export async function commitObject(store: ResourceStore, write: ObjectWrite): Promise<WriteOutcome> {
  const key = store.prefix + write.key
  for (let attempt = 0; attempt < FENCE_RETRIES; attempt++) {
    const fence = store.fence.current()
    if (fence.mode !== 'ReadWrite') throw serviceUnavailable(`${store.prefix.slice(5, -1)} is ${fence.mode}: writes are refused for now`, 5)
    const value = write.hub ? seal(store, settled(store, write.hub, fence, write.current), fence.encodingVersion, write) : new Uint8Array()
    if (isUnchanged(store, write, value, fence.encodingVersion)) return { kind: 'unchanged', revision: write.expected, value }
    const result = await attemptCommit(store, write, key, value)
    if (result) return result
  }
  throw serviceUnavailable('the storage version is being changed; please try again', 1)
}

function isUnchanged({ codec }: ResourceStore, { current, before }: ObjectWrite, value: Uint8Array, version: string): boolean {
  if (current === undefined || Buffer.compare(value, current) !== 0) return false
  return codec.isSettled(value) || (before !== undefined && Buffer.compare(codec.seal(before(), version), value) === 0)
}

// No write may bring back what a retirement has taken away: the version may still be served, and its clients go on.
function settled({ codec }: ResourceStore, hub: KubeObject, fence: FenceRecord, current: Uint8Array | undefined): KubeObject {
  return codec.owners.settle(hub, fence, current && (() => codec.open(current)))
}

function seal(store: ResourceStore, hub: KubeObject, version: string, { unread, mayLoseManagedFields = false }: Pick<ObjectWrite, 'unread' | 'mayLoseManagedFields'>): Uint8Array {
  const value = store.codec.seal(hub, version, unread)
  if (value.length > MAX_STORED_BYTES && mayLoseManagedFields && hub.metadata.managedFields) return seal(store, withoutManagedFields(hub), version, {})
  if (value.length > MAX_STORED_BYTES) {
    throw requestEntityTooLarge(`the object takes ${value.length} bytes in storage, limit is ${MAX_STORED_BYTES}`)
  }
  return value
}

// Undefined: the fence has moved, encode again.
async function attemptCommit(store: ResourceStore, write: ObjectWrite, key: string, value: Uint8Array): Promise<WriteOutcome | undefined> {
  try {
    const result = await commitFenced(store.backend, store.fence, {
      compare: [{ key, modRevision: write.expected }],
      ...(write.hub ? { put: [{ key, value }] } : { delete: [key] }),
    })
    if (result.kind === 'committed') return { kind: 'written', revision: result.revision, value }
    return result.kind === 'fenced' ? undefined : { kind: 'lost', live: result.current.get(key) }
  } catch (error) {
    if (error instanceof UnknownOutcome) return await readBack(store, write, key, value)
    throw refusal(error)
  }
}

async function readBack(store: ResourceStore, write: ObjectWrite, key: string, value: Uint8Array): Promise<WriteOutcome> {
  const live = await store.backend.get(key)
  const done = write.hub ? live !== undefined && live.modRevision !== write.expected && Buffer.compare(live.value, value) === 0 : live === undefined
  if (done) return { kind: 'written', revision: live?.modRevision ?? (await store.backend.currentRevision()), value }
  throw timeout('the outcome of the write is unknown; read the object before trying again', { retryAfterSeconds: 1 })
}

/** The Status for a backend's refusal; anything else comes back as it is. */
export function refusal(error: unknown): unknown {
  if (error instanceof OutOfSpace) return insufficientStorage(`the store has no space left, nothing was written: free some space and try again (${error.message})`)
  if (error instanceof TooLarge) return requestEntityTooLarge(error.message)
  if (error instanceof UndecodableStoredVersions || error instanceof FenceUnreadable) return serviceUnavailable(error.message)
  if (error instanceof Unavailable) return serviceUnavailable(`the store is not available: ${error.message}`, 1)
  return error
}
