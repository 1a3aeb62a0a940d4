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

function integer(name: string, min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (!/^[0-9]+$/.test(text) || value < min || value > max) throw new Error(`${name} must be a whole number from ${min} to ${max}, got "${text}"`)
    return value
  }
}

const text = (value: string): string => value

const paths = (value: string): readonly string[] => value.split(delimiter).filter((path) => path !== '')

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
  samples: { flag: '--no-samples', env: 'MLOPS_SAMPLES', default: 'true', help: 'do not serve the sample notebooks and do not create the sample jobs (environment: false)', parse: boolean },
  worker: { flag: '--no-worker', env: 'MLOPS_WORKER', default: 'true', help: 'serve the API only; jobs stay pending (environment: false)', parse: boolean },
  concurrency: { flag: '--concurrency', env: 'MLOPS_CONCURRENCY', value: 'N', default: '2', help: 'jobs that run at the same time', parse: integer('concurrency', 1, 64) },
  python: { flag: '--python', env: 'MLOPS_PYTHON', value: 'PROGRAM', default: 'python3', help: 'Python 3 that the notebook environment is made with', parse: text },
  cacheMegabytes: { flag: '--cache-megabytes', env: 'MLOPS_CACHE_MEGABYTES', value: 'MB', default: '256', help: 'memory for the JSON of objects in versions other than the stored one', parse: integer('cache megabytes', 1, 65_536) },
  definitions: { flag: '--definition', env: 'MLOPS_DEFINITIONS', value: 'PATH', list: true, default: '', help: 'CustomResourceDefinition manifests to serve as well: files or folders', parse: paths },
  lenses: { flag: '--lenses', env: 'MLOPS_LENSES', value: 'FILE', list: true, default: '', help: 'files of lenses between the versions of such definitions', parse: paths },
  kubeconfig: { flag: '--kubeconfig', env: 'MLOPS_KUBECONFIG', value: 'FILE', default: '<data-dir>/kubeconfig', help: 'how the worker reaches the API', parse: text },
  logLevel: { flag: '--log-level', env: 'MLOPS_LOG_LEVEL', value: 'LEVEL', default: 'warn', help: `one of ${LOG_LEVELS.join(', ')}`, parse: logLevel },
} as const satisfies Record<string, Setting>

export type SettingName = keyof typeof SETTINGS

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
 * Throws ConfigError with every problem at once.
 */
export function readConfig(flags: Readonly<Record<string, unknown>>, env: Readonly<Record<string, string | undefined>>): Config {
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
  return config.kubeconfig === '' ? { ...config, kubeconfig: join(config.dataDir, 'kubeconfig') } : config
}

function defaultText(name: SettingName, env: Readonly<Record<string, string | undefined>>): string {
  if (name === 'dataDir') return join(env.XDG_DATA_HOME || join(homedir(), '.local', 'share'), 'mlops-apiserver')
  if (name === 'kubeconfig') return ''
  return SETTINGS[name].default
}
