/**
 * The one table of settings: flag, environment variable, default, help. `--help` and the README print it; only this file and
 * main.ts read argv and the environment.
 */
import { homedir } from 'node:os'
import { delimiter, join } from 'node:path'
import { LOG_LEVELS, type LogLevel } from './base/log.ts'

/** One setting. `parse` turns its text into the value, or throws an Error that says what is allowed. */
export interface Setting<T = unknown> {
  readonly flag: string
  readonly env: string
  /** Shown as the value's placeholder; absent for a switch. */
  readonly value?: string
  /** The default, as it is shown; undefined: none. */
  readonly default?: string
  /** May be given several times; in the environment, separated as PATH is. */
  readonly list?: true
  readonly help: string
  readonly parse: (text: string) => T
}

/** A Service of the cluster and its port. */
export interface ServiceName {
  readonly namespace: string
  readonly name: string
  readonly port: number
}

function integer(name: string, min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (!/^[0-9]+$/.test(text) || value < min || value > max) throw new Error(`${name} must be a whole number from ${min} to ${max}, got "${text}"`)
    return value
  }
}

const text = (value: string): string => value

const paths = (value: string): readonly string[] => value.split(delimiter).filter((path) => path !== '')

const list = (value: string): readonly string[] => value.split(',').map((item) => item.trim()).filter((item) => item !== '')

// The Service of an APIService; undefined: none.
function service(value: string): ServiceName | undefined {
  if (value === '') return undefined
  const [, namespace, name, port = '443'] = /^([a-z0-9](?:[-a-z0-9]*[a-z0-9])?)\/([a-z0-9](?:[-a-z0-9]*[a-z0-9])?)(?::([0-9]{1,5}))?$/.exec(value) ?? []
  if (namespace === undefined || name === undefined) throw new Error(`expected NAMESPACE/NAME or NAMESPACE/NAME:PORT, got "${value}"`)
  return { namespace, name, port: integer('port', 1, 65_535)(port) }
}

function executor(value: string): 'local' | 'pods' {
  if (value === 'local' || value === 'pods') return value
  throw new Error(`expected local or pods, got "${value}"`)
}

// A name as of a namespace; empty: none.
function label(value: string): string {
  if (value !== '' && !/^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/.test(value)) throw new Error(`expected a name, got "${value}"`)
  return value
}

function lease(value: string): { readonly namespace: string; readonly name: string } {
  const [namespace = '', name = '', ...more] = value.split('/')
  if (namespace === '' || name === '' || more.length > 0) throw new Error(`expected NAMESPACE/NAME, got "${value}"`)
  return { namespace: label(namespace), name: label(name) }
}

function pullPolicy(value: string): string {
  if (['', 'Always', 'IfNotPresent', 'Never'].includes(value)) return value
  throw new Error(`expected Always, IfNotPresent or Never, got "${value}"`)
}

function boolean(value: string): boolean {
  if (['true', '1', 'yes', ''].includes(value.toLowerCase())) return true
  if (['false', '0', 'no'].includes(value.toLowerCase())) return false
  throw new Error(`expected true or false, got "${value}"`)
}

function logLevel(value: string): LogLevel {
  const level = LOG_LEVELS.find((known) => known === value)
  if (!level) throw new Error(`log level must be one of ${LOG_LEVELS.join(', ')}, got "${value}"`)
  return level
}

/** Every setting, by its name in `Config`. */
export const SETTINGS = {
  dataDir: { flag: '--data-dir', env: 'MLOPS_DATA_DIR', value: 'DIR', default: '$XDG_DATA_HOME/mlops-apiserver, else ~/.local/share/mlops-apiserver', help: 'where the store, certificates, kubeconfig and Python environment are kept', parse: text },
  port: { flag: '--port', env: 'MLOPS_PORT', value: 'PORT', default: '7443', help: 'loopback port of the API; 0 takes any free one', parse: integer('port', 0, 65_535) },
  bindAddress: { flag: '--bind-address', env: 'MLOPS_BIND_ADDRESS', value: 'ADDRESS', default: '127.0.0.1', help: 'address that the conversion webhook, and a server of a cluster, listen on', parse: text },
  tlsCertFile: { flag: '--tls-cert-file', env: 'MLOPS_TLS_CERT_FILE', value: 'FILE', default: '', help: 'serving certificate (PEM), read again when it changes', parse: text },
  tlsPrivateKeyFile: { flag: '--tls-private-key-file', env: 'MLOPS_TLS_PRIVATE_KEY_FILE', value: 'FILE', default: '', help: 'its private key', parse: text },
  tlsCaFile: { flag: '--tls-ca-file', env: 'MLOPS_TLS_CA_FILE', value: 'FILE', default: '', help: 'who signed it (PEM): kept as caBundle of the APIServices; without it their caBundle stays as it is', parse: text },
  cluster: { flag: '--cluster', env: 'MLOPS_CLUSTER', value: 'KUBECONFIG', default: '', help: 'serve as an aggregated API server, or be the conversion webhook, of this cluster: a kubeconfig, or in-cluster for the service account of the pod', parse: text },
  service: { flag: '--service', env: 'MLOPS_SERVICE', value: 'NAMESPACE/NAME[:PORT]', default: '', help: 'the Service by which its kube-apiserver reaches this server (APIServices for it are made and kept right) or the conversion webhook', parse: service },
  certificateSecret: { flag: '--certificate-secret', env: 'MLOPS_CERTIFICATE_SECRET', value: 'NAME', default: '', help: 'Secret, in the namespace of the Service, in which a server of a cluster, and the conversion webhook, keep certificates of their own; APIServices and definitions are told who signs them', parse: text },
  shutdownDelaySeconds: { flag: '--shutdown-delay-seconds', env: 'MLOPS_SHUTDOWN_DELAY_SECONDS', value: 'S', default: '10', help: 'how long a stopping server of a cluster, ready no more, serves on until all know that', parse: integer('seconds', 0, 300) },
  samples: { flag: '--no-samples', env: 'MLOPS_SAMPLES', default: 'true', help: 'do not serve the sample notebooks and do not create the sample jobs (environment: false)', parse: boolean },
  worker: { flag: '--no-worker', env: 'MLOPS_WORKER', default: 'true', help: 'serve the API only; jobs stay pending (environment: false)', parse: boolean },
  concurrency: { flag: '--concurrency', env: 'MLOPS_CONCURRENCY', value: 'N', default: '2', help: 'jobs that run at the same time', parse: integer('concurrency', 1, 64) },
  statusKibibytes: { flag: '--status-kibibytes', env: 'MLOPS_STATUS_KIBIBYTES', value: 'KIB', default: '256', help: 'how large the worker lets the status of a job become; 96 where the API is a CustomResourceDefinition', parse: integer('kibibytes', 32, 256) },
  executor: { flag: '--executor', env: 'MLOPS_EXECUTOR', value: 'HOW', default: 'local', help: 'how the worker runs notebooks: local, as processes beside it, or pods of the cluster', parse: executor },
  podImage: { flag: '--pod-image', env: 'MLOPS_POD_IMAGE', value: 'IMAGE', default: '', help: 'image of this program, which clones and reports in the pods of jobs; needed for --executor pods', parse: text },
  podImagePullPolicy: { flag: '--pod-image-pull-policy', env: 'MLOPS_POD_IMAGE_PULL_POLICY', value: 'POLICY', default: '', help: 'Always, IfNotPresent or Never; without it as the cluster does', parse: pullPolicy },
  namespace: { flag: '--namespace', env: 'MLOPS_NAMESPACE', value: 'NAME', default: '', help: 'the only namespace whose jobs the worker runs; without it all', parse: label },
  lease: { flag: '--lease', env: 'MLOPS_LEASE', value: 'NAMESPACE/NAME', default: 'mlops-system/mlops-worker', help: 'Lease by which one of several workers with --executor pods leads', parse: lease },
  python: { flag: '--python', env: 'MLOPS_PYTHON', value: 'PROGRAM', default: 'python3', help: 'Python 3 that the notebook environment is made with', parse: text },
  cacheMegabytes: { flag: '--cache-megabytes', env: 'MLOPS_CACHE_MEGABYTES', value: 'MB', default: '256', help: 'memory for the JSON of objects in versions other than the stored one', parse: integer('cache megabytes', 1, 65_536) },
  definitions: { flag: '--definition', env: 'MLOPS_DEFINITIONS', value: 'PATH', list: true, default: '', help: 'CustomResourceDefinition manifests to serve as well: files or folders', parse: paths },
  lenses: { flag: '--lenses', env: 'MLOPS_LENSES', value: 'FILE', list: true, default: '', help: 'files of lenses between the versions of such definitions', parse: paths },
  pkiDir: { flag: '--pki-dir', env: 'MLOPS_PKI_DIR', value: 'DIR', default: '<data-dir>/pki', help: 'where the certificates are kept; replicas that share them need one directory', parse: text },
  etcdServers: { flag: '--etcd-servers', env: 'MLOPS_ETCD_SERVERS', value: 'URLS', default: '', help: 'etcd in place of the embedded store: client URLs of its members, separated by commas', parse: list },
  etcdPrefix: { flag: '--etcd-prefix', env: 'MLOPS_ETCD_PREFIX', value: 'PREFIX', default: '/mlops-apiserver', help: 'all keys in etcd are under it', parse: text },
  etcdCacert: { flag: '--etcd-cacert', env: 'MLOPS_ETCD_CACERT', value: 'FILE', default: '', help: 'who signed the certificates of an etcd on https', parse: text },
  etcdCertfile: { flag: '--etcd-certfile', env: 'MLOPS_ETCD_CERTFILE', value: 'FILE', default: '', help: 'client certificate for etcd', parse: text },
  etcdKeyfile: { flag: '--etcd-keyfile', env: 'MLOPS_ETCD_KEYFILE', value: 'FILE', default: '', help: 'its private key', parse: text },
  etcdUser: { flag: '--etcd-user', env: 'MLOPS_ETCD_USER', value: 'NAME', default: '', help: 'user of etcd', parse: text },
  etcdPassword: { flag: '--etcd-password', env: 'MLOPS_ETCD_PASSWORD', value: 'TEXT', default: '', help: 'its password; better given in the environment', parse: text },
  kubeconfig: { flag: '--kubeconfig', env: 'MLOPS_KUBECONFIG', value: 'FILE', default: '<data-dir>/kubeconfig, of the worker <data-dir>/worker.kubeconfig', help: 'how the worker, and storage commands, reach the API; for the worker also in-cluster, the service account of its pod', parse: text },
  logLevel: { flag: '--log-level', env: 'MLOPS_LOG_LEVEL', value: 'LEVEL', default: 'warn', help: `one of ${LOG_LEVELS.join(', ')}`, parse: logLevel },
} as const satisfies Record<string, Setting>

export type SettingName = keyof typeof SETTINGS

/** In the data directory: with the rights of the worker and no others. */
export const WORKER_KUBECONFIG = 'worker.kubeconfig'

/** The parsed settings. */
export type Config = { readonly [K in SettingName]: ReturnType<(typeof SETTINGS)[K]['parse']> }

/** A mistake in the settings: one line each. */
export class ConfigError extends Error {
  constructor(problems: readonly string[]) {
    super(problems.join('\n'))
    this.name = 'ConfigError'
  }
}

/**
 * Settings from flags, then the environment, then defaults. `flags` holds what the command line gave (texts, lists of them, or false for a `--no-…` switch).
 * `ownKubeconfig`: the file of the data directory that is meant when no kubeconfig is named.
 * Throws ConfigError with every problem at once.
 */
export function readConfig(flags: Readonly<Record<string, unknown>>, env: Readonly<Record<string, string | undefined>>, ownKubeconfig = 'kubeconfig'): Config {
  const problems: string[] = []
  const read = (name: SettingName): unknown => {
    const setting: Setting = SETTINGS[name]
    const flag = flags[name]
    const given = flag === false ? 'false' : Array.isArray(flag) ? flag.join(delimiter) : typeof flag === 'string' ? flag : undefined
    const source = given !== undefined ? setting.flag : setting.env
    const raw = given ?? env[setting.env] ?? defaultText(name, env)
    try {
      return setting.parse(raw)
    } catch (error) {
      problems.push(`${source}: ${error instanceof Error ? error.message : String(error)}`)
      return undefined
    }
  }
  const config = Object.fromEntries((Object.keys(SETTINGS) as SettingName[]).map((name) => [name, read(name)])) as unknown as Config
  if (problems.length > 0) throw new ConfigError(problems)
  const { dataDir, kubeconfig, pkiDir } = config
  return { ...config, kubeconfig: kubeconfig || join(dataDir, ownKubeconfig), pkiDir: pkiDir || join(dataDir, 'pki') }
}

/** Where storage commands work: through a server, on the CustomResourceDefinition of a kube-apiserver, or on the store of `config` itself. */
export type StoragePlace =
  | { readonly kind: 'server'; readonly kubeconfig: string }
  | { readonly kind: 'definition'; readonly kubeconfig: string }
  | { readonly kind: 'store'; readonly config: Config }

/**
 * What was asked for most plainly: a flag, else (as a plugin of kubectl) the kubeconfig that kubectl uses, else the environment, else the data directory.
 * `flags` is as for `readConfig`. `definition`: the kubeconfig leads to a kube-apiserver with the CustomResourceDefinition; it is the one that kubectl uses unless another is given.
 * Throws ConfigError, also for flags that name a server and a store.
 */
export function storagePlace(flags: Readonly<Record<string, unknown>>, env: Readonly<Record<string, string | undefined>>, options: { readonly plugin: boolean; readonly definition?: boolean }): StoragePlace {
  checkOnePlace(flags, options.definition === true)
  const config = readConfig(flags, env)
  if (options.definition) return { kind: 'definition', kubeconfig: typeof flags.kubeconfig === 'string' || env.MLOPS_KUBECONFIG ? config.kubeconfig : userKubeconfig(env) }
  if (typeof flags.kubeconfig === 'string') return { kind: 'server', kubeconfig: config.kubeconfig }
  if (typeof flags.etcdServers === 'string' || typeof flags.dataDir === 'string') return { kind: 'store', config: typeof flags.etcdServers === 'string' ? config : { ...config, etcdServers: [] } }
  if (options.plugin) return { kind: 'server', kubeconfig: userKubeconfig(env) }
  if (env.MLOPS_KUBECONFIG) return { kind: 'server', kubeconfig: config.kubeconfig }
  return { kind: 'store', config }
}

// Two answers to where are a mistake: neither is taken in silence.
function checkOnePlace(flags: Readonly<Record<string, unknown>>, definition: boolean): void {
  const given = (names: readonly SettingName[]): string[] => names.filter((name) => typeof flags[name] === 'string').map((name) => SETTINGS[name].flag)
  const [through, store] = [[...given(['kubeconfig']), ...(definition ? ['--crd'] : [])], given(['etcdServers', 'dataDir'])]
  if (through.length > 0 && store.length > 0) throw new ConfigError([`${through[0]} and ${store[0]}: a server and a store are two places, give one of them`])
}

function userKubeconfig(env: Readonly<Record<string, string | undefined>>): string {
  return env.KUBECONFIG?.split(delimiter)[0] || join(homedir(), '.kube', 'config')
}

function defaultText(name: SettingName, env: Readonly<Record<string, string | undefined>>): string {
  if (name === 'dataDir') return join(env.XDG_DATA_HOME || join(homedir(), '.local', 'share'), 'mlops-apiserver')
  if (name === 'kubeconfig' || name === 'pkiDir') return ''
  return SETTINGS[name].default
}
