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
  if (!isThere(config)) return await openElsewhere(config, around)
  try {
    return await openDirect(config, around)
  } catch (error) {
    if (error instanceof StoreLocked) return await openServerOf(config, around, inUse(config, error), `the store is in use by process ${error.pid ?? 'unknown'}`)
    throw error
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

// The server that keeps its kubeconfig in the data directory. Where it does not answer, `otherwise` is thrown: the file outlives it.
async function openServerOf({ dataDir }: Config, { say }: Surroundings, otherwise: Error, why: string): Promise<OpenedStorage> {
  const kubeconfig = kubeconfigOf(dataDir)
  if (!existsSync(kubeconfig)) throw otherwise
  const opened = await openRemote(kubeconfig)
  try {
    await opened.admin.list()
    say(`${why}: asking the server of ${kubeconfig}`)
    return opened
  } catch (error) {
    await opened.close()
    throw error instanceof Unavailable ? otherwise : error
  }
}

// Who has the store may be a command like this one, which nobody can ask.
function inUse({ dataDir }: Config, { pid }: StoreLocked): Refused {
  const who = pid === undefined ? 'another process, which is no server that answers' : `process ${pid}, which is no server that answers`
  const stop = pid === undefined ? 'Ctrl-C' : `Ctrl-C, or kill -INT ${pid}`
  return new Refused('LostOwnership', `the store of ${dataDir} is in use by ${who}: wait until it ends, or end it (${stop}); a migration that was ended so is continued by the same command`)
}

// Else a mistyped directory would become an empty store.
function isThere(config: Config): boolean {
  return config.etcdServers.length > 0 || existsSync(join(storeDirectory(config), 'store.db'))
}

// A server on etcd has its kubeconfig in its data directory, and no store.
async function openElsewhere(config: Config, around: Surroundings): Promise<OpenedStorage> {
  const { dataDir } = config
  const none = `there is no store in ${dataDir}`
  if (!existsSync(kubeconfigOf(dataDir))) throw new Refused('UnknownResource', `${none}: name the right one with --data-dir, or a server with --kubeconfig`)
  const silent = new Unavailable(`${none}, and the server of its kubeconfig does not answer: start it, or name its etcd with --etcd-servers`)
  return await openServerOf(config, around, silent, none)
}

function kubeconfigOf(dataDir: string): string {
  return join(dataDir, 'kubeconfig')
}

async function openDirect(config: Config, { clock, log, say }: Surroundings): Promise<OpenedStorage> {
  const served = await chooseResources(config, say)
  const { backend, exclusive } = await openBackend(config, { clock, log, orReadOnly: true })
  try {
    await checkFormat(backend, config)
    if ((await backend.status()).readOnly) say('the store is on a read-only file system: it is read as it is there, which nobody may change meanwhile, and nothing is written')
    const owner = `storage command, process ${process.pid}`
    const admin = openDirectStorage({ backend, exclusive, unserved: true, resources: [...coreResources, ...served].map(adminResource), clock, log, program: programName(), owner })
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
async function checkFormat(backend: Backend, { etcdServers, etcdPrefix, dataDir }: Config): Promise<void> {
  const format = await readStoreFormat(backend)
  if (!format && (await isEmpty(backend))) {
    const place = etcdServers.length > 0 ? `under the prefix ${etcdPrefix} of ${etcdServers.join(', ')}: name the right one with --etcd-prefix` : `in ${dataDir}, only an empty one: name the right one with --data-dir`
    throw new Refused('UnknownResource', `there is no store ${place}`)
  }
  if (format && format.minimumReader > STORE_FORMAT) {
    throw new Refused('NewerStore', `the store needs a program that reads format ${format.minimumReader}, ${programName()} reads ${STORE_FORMAT}: run the newer release`)
  }
}

async function isEmpty(backend: Backend): Promise<boolean> {
  const { kvs } = await backend.range({ start: 'data/', end: 'meta0', limit: 1, uncounted: true })
  return kvs.length === 0
}
