/** Where a storage command works: on a store that it opens itself, or through a running server. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Unavailable, type Backend } from '../../../storage/backend.ts'
import { Refused } from '../../../storage/refused.ts'
import { StoreLocked } from '../../../storage/sqlite-protocol.ts'
import { readStoreFormat, STORE_FORMAT } from '../../../storage/store-format.ts'
import type { Clock } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import type { Config, StoragePlace } from '../../config.ts'
import { adminResource } from '../../registry/admin-resource.ts'
import { openDirectStorage } from '../../registry/direct-storage.ts'
import type { StorageAdmin } from '../../registry/storage-admin.ts'
import { coreResources } from '../../resources/core/index.ts'
import { chooseResources } from '../choose-resources.ts'
import { openBackend, storeDirectory } from '../open-backend.ts'
import { programName } from '../own-version.ts'
import { UsageError } from './exit-code.ts'

/** What a command works with. */
export interface OpenedStorage {
  readonly admin: StorageAdmin
  /** Through a server: what is begun goes on without this process. */
  readonly remote: boolean
  /** Ends what this process runs, and gives the store back. */
  close(): Promise<void>
}

export interface Surroundings {
  readonly clock: Clock
  readonly log: Log
  /** For a person: what is not the result. */
  readonly say: (line: string) => void
}

/** Opens it. A store that a server of the same data directory has open is reached through that server. */
export async function openStorage(place: StoragePlace, around: Surroundings): Promise<OpenedStorage> {
  if (place.kind === 'server') return await openRemote(place.kubeconfig)
  if (place.kind === 'definition') return await openDefinition(place.kubeconfig, around)
  const { config } = place
  checkThere(config)
  try {
    return await openDirect(config, around)
  } catch (error) {
    const kubeconfig = join(config.dataDir, 'kubeconfig')
    if (!(error instanceof StoreLocked) || !existsSync(kubeconfig)) throw error
    around.say(`the store is in use by process ${error.pid ?? 'unknown'}: asking the server of ${kubeconfig}`)
    return await openServerOf(kubeconfig, error)
  }
}

async function openRemote(kubeconfig: string): Promise<OpenedStorage> {
  const { openRemoteStorage } = await import('./remote-storage.ts')
  try {
    const admin = openRemoteStorage(kubeconfig)
    return { admin, remote: true, close: () => admin.close() }
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error), { cause: error })
  }
}

async function openDefinition(kubeconfig: string, { clock, say }: Surroundings): Promise<OpenedStorage> {
  const { openDefinitionStorage } = await import('./definition-storage.ts')
  const stopping = new AbortController()
  try {
    const admin = openDefinitionStorage(kubeconfig, { clock, say, signal: stopping.signal })
    return {
      admin,
      remote: false,
      async close() {
        stopping.abort()
        await admin.close()
      },
    }
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error), { cause: error })
  }
}

// Who has the store may be another command: its server, where there was one, does not answer then.
async function openServerOf(kubeconfig: string, locked: StoreLocked): Promise<OpenedStorage> {
  const opened = await openRemote(kubeconfig)
  try {
    await opened.admin.list()
    return opened
  } catch (error) {
    await opened.close()
    if (error instanceof Unavailable) throw locked
    throw error
  }
}

// Else a mistyped directory would become an empty store.
function checkThere(config: Config): void {
  if (config.etcdServers.length > 0 || existsSync(join(storeDirectory(config), 'store.db'))) return
  throw new Refused('UnknownResource', `there is no store in ${config.dataDir}: name the right one with --data-dir, or a server with --kubeconfig`)
}

async function openDirect(config: Config, { clock, log, say }: Surroundings): Promise<OpenedStorage> {
  const served = await chooseResources(config, say)
  const { backend, exclusive } = await openBackend(config, { clock, log })
  try {
    await checkFormat(backend)
    const owner = `storage command, process ${process.pid}`
    const admin = openDirectStorage({ backend, exclusive, resources: [...coreResources, ...served].map(adminResource), clock, log, program: programName(), owner })
    return {
      admin,
      remote: false,
      async close() {
        await admin.close()
        await backend.close()
      },
    }
  } catch (error) {
    await backend.close()
    throw error
  }
}

// Without making the record, which would write into a store that may be there to be restored into.
async function checkFormat(backend: Backend): Promise<void> {
  const format = await readStoreFormat(backend)
  if (format && format.minimumReader > STORE_FORMAT) {
    throw new Refused('NewerStore', `the store needs a program that reads format ${format.minimumReader}, ${programName()} reads ${STORE_FORMAT}: run the newer release`)
  }
}
