/** Storage administration inside an API server: over its stores, and going on with migrations that were left. */
import type { Backend } from '../../storage/backend.ts'
import type { Program } from '../../storage/start.ts'
import { Undecodable } from '../../storage/watch-cache.ts'
import { adminResource } from '../registry/admin-resource.ts'
import { countValues } from '../registry/count-stored.ts'
import { openDirectStorage, type DirectStorage } from '../registry/direct-storage.ts'
import type { ResourceStore } from '../registry/resource-store.ts'
import type { StoredCounts } from '../registry/storage-admin.ts'

/** How soon a migration whose process has died is continued by another. */
const CONTINUE_MS = 15_000

/** Opens it; closing leaves the migrations of this process for others to continue. */
export function openServerStorage(backend: Backend, stores: readonly ResourceStore[], program: Program): DirectStorage {
  const { clock, log, name, replica } = program
  const storage = openDirectStorage({ backend, resources: stores.map(adminResource), clock, log, program: name, owner: `server ${replica}`, count: (resource) => count(stores, resource) })
  const stopped = new AbortController()
  const following = follow()
  async function follow(): Promise<void> {
    while (!stopped.signal.aborted) {
      await storage.continueMigrations()
      await clock.sleep(CONTINUE_MS, stopped.signal).catch(() => {})
    }
  }
  const close = storage.close.bind(storage)
  const deleteQuarantined = storage.deleteQuarantined.bind(storage)
  return Object.assign(storage, {
    // Its bytes may be a secret, and go into no log.
    async deleteQuarantined(...args: Parameters<DirectStorage['deleteQuarantined']>) {
      const deleted = await deleteQuarantined(...args)
      const { resource, key, class: problem, modRevision, sha256 } = deleted
      log.warn('an object that could not be used was deleted', { resource, key, class: problem, modRevision, sha256 })
      return deleted
    },
    async close(): Promise<void> {
      stopped.abort()
      await following
      await close()
    },
  })
}

// The cache knows, without reading the store, unless an object in it has no meaning.
function count(stores: readonly ResourceStore[], resource: string): StoredCounts | undefined {
  const store = stores.find(({ fence }) => fence.resource === resource)
  try {
    return store && countValues(store.cache.list({}).entries.map(({ value }) => value))
  } catch (error) {
    if (error instanceof Undecodable) return undefined
    throw error
  }
}
