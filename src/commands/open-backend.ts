/** The store that the settings name: etcd, or the embedded one in the data directory. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Backend } from '../../storage/backend.ts'
import { markFile, type MarkPlace } from '../../storage/high-water-mark.ts'
import { openRevisions } from '../../storage/revision-offset.ts'
import type { EtcdTls } from '../../storage/etcd-member.ts'
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { ConfigError, type Config } from '../config.ts'

/** The settings of a store. */
export type BackendConfig = Pick<Config, 'dataDir' | 'etcdServers' | 'etcdPrefix' | 'etcdCacert' | 'etcdCertfile' | 'etcdKeyfile' | 'etcdUser' | 'etcdPassword'>

/** An opened store with what depends on its kind. */
export interface OpenedBackend {
  readonly backend: Backend
  /** Only this process can open it. */
  readonly exclusive: boolean
  readonly mark: MarkPlace
}

const REQUEST_TIMEOUT_MS = 5000

/** The directory of the embedded store. */
export function storeDirectory({ dataDir }: Pick<Config, 'dataDir'>): string {
  return join(dataDir, 'store')
}

/** What it is opened with. `orReadOnly`: an embedded store on a read-only file system is opened for reading. */
export interface BackendSurroundings {
  readonly clock: Clock
  readonly log: Log
  readonly orReadOnly?: boolean
}

/** Opens it. Rejects as the engine does, with ConfigError for settings that make no sense, with Refused for a store whose revisions nobody can tell. */
export async function openBackend(config: BackendConfig, around: BackendSurroundings): Promise<OpenedBackend> {
  const mark = markFile(join(config.dataDir, 'high-water-mark.json'))
  const exclusive = config.etcdServers.length === 0
  const engine = exclusive ? await openEmbedded(config, around) : await openDistributed(config, around)
  try {
    return { backend: await openRevisions(engine), exclusive, mark }
  } catch (error) {
    await engine.close()
    throw error
  }
}

async function openEmbedded(config: BackendConfig, around: BackendSurroundings): Promise<Backend> {
  const { openSqlite } = await import('../../storage/sqlite.ts')
  return await openSqlite({ directory: storeDirectory(config), ...around })
}

async function openDistributed(config: BackendConfig, { clock, log }: BackendSurroundings): Promise<Backend> {
  const tls = await readTls(config)
  const { etcdServers: endpoints, etcdPrefix: prefix, etcdUser: user, etcdPassword: password } = config
  const { openEtcd } = await import('../../storage/etcd.ts')
  try {
    return await openEtcd({ endpoints, prefix, requestTimeoutMs: REQUEST_TIMEOUT_MS, ...(tls && { tls }), ...(user !== '' && { auth: { user, password } }), clock, log })
  } catch (error) {
    if (error instanceof TypeError) throw new ConfigError([error.message])
    throw error
  }
}

async function readTls({ etcdServers, etcdCacert, etcdCertfile, etcdKeyfile }: BackendConfig): Promise<EtcdTls | undefined> {
  const given = [etcdCacert, etcdCertfile, etcdKeyfile].some((file) => file !== '')
  if (!given && !etcdServers.some((server) => server.startsWith('https:'))) return undefined
  if (etcdCacert === '') throw new ConfigError(['--etcd-cacert: an etcd on https needs the certificate of who signed its own'])
  if ((etcdCertfile === '') !== (etcdKeyfile === '')) throw new ConfigError(['--etcd-certfile and --etcd-keyfile: one needs the other'])
  const [ca, cert, key] = await Promise.all([etcdCacert, etcdCertfile, etcdKeyfile].map(async (file) => (file === '' ? undefined : await readFile(file, 'utf8'))))
  return { ca: ca as string, ...(cert !== undefined && { cert }), ...(key !== undefined && { key }) }
}
