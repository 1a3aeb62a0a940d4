/** The live object that a write starts from. */
import type { KeyValue } from '../../storage/backend.ts'
import { Undecodable } from '../../storage/watch-cache.ts'
import type { KubeObject } from '../api/object.ts'
import { internalError } from '../api/status.ts'
import { refusal } from './commit-object.ts'
import { readable, type ResourceStore } from './resource-store.ts'

export interface LiveEntry {
  /** Relative key. */
  readonly key: string
  readonly revision: number
  /** The stored bytes. */
  readonly value: Uint8Array
  /** The object in hub form, without resourceVersion. */
  readonly hub: KubeObject
}

/** The object as the cache has it: cheap, and perhaps stale. */
export function currentEntry(store: ResourceStore, key: string): LiveEntry | undefined {
  const entry = readable(() => store.cache.get(key))
  return entry && open(store, key, entry.revision, entry.value)
}

/** The object as the store has it now. */
export async function latestEntry(store: ResourceStore, key: string): Promise<LiveEntry | undefined> {
  try {
    return toLive(store, key, await store.backend.get(store.prefix + key))
  } catch (error) {
    throw refusal(error)
  }
}

/** A key and value read from the store. */
export function toLive(store: ResourceStore, key: string, kv: KeyValue | undefined): LiveEntry | undefined {
  return kv && open(store, key, kv.modRevision, kv.value)
}

function open(store: ResourceStore, key: string, revision: number, value: Uint8Array): LiveEntry {
  try {
    return { key, revision, value, hub: store.codec.open(value) }
  } catch (error) {
    store.quarantine.report({ key, revision })
    throw internalError(new Undecodable(key, error).message)
  }
}
