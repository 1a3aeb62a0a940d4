/** What all storage commands share: they open a store or a server, work, and end with a code. */
import { systemClock } from '../../base/clock.ts'
import { openLog, type LogLevel } from '../../base/log.ts'
import type { StoragePlace } from '../../config.ts'
import type { StorageAdmin, StorageStatus } from '../../registry/storage-admin.ts'
import type { Output } from '../show-progress.ts'
import { exitCodeOf, INTERRUPTED, UsageError } from './exit-code.ts'
import { openStorage, type OpenedStorage, type Surroundings } from './open-storage.ts'

/** The surroundings of a command. */
export interface CommandOptions {
  readonly place: StoragePlace
  /** `<plural>.<group>`; absent: the one that is meant. */
  readonly resource?: string
  readonly output: 'text' | 'json'
  readonly logLevel: LogLevel
  readonly out: Output
  readonly err: Output
  /** Aborted by Ctrl-C; absent for commands that are short. */
  readonly signal?: AbortSignal
}

/** A command at work. */
export interface CommandContext extends CommandOptions, Surroundings {
  readonly storage: OpenedStorage
  readonly admin: StorageAdmin
  /** Writes the result: as JSON, or the lines that `text` makes of it. */
  print<T>(value: T, text: (value: T) => readonly string[]): void
}

/** Runs a command to its exit code. Errors are one line each on standard error. */
export async function runStorageCommand(options: CommandOptions, work: (context: CommandContext) => Promise<number>): Promise<number> {
  const around = surroundings(options)
  try {
    const storage = await openStorage(options.place, around)
    try {
      return await work({ ...options, ...around, storage, admin: storage.admin, print: printer(options) })
    } finally {
      await storage.close()
    }
  } catch (error) {
    if (!options.signal?.aborted) return reportError(error, options)
    around.say('interrupted')
    return INTERRUPTED
  }
}

/** The clock, the log and the voice of a command. */
export function surroundings({ logLevel, err }: Pick<CommandOptions, 'logLevel' | 'err'>): Surroundings {
  return { clock: systemClock, log: openLog(logLevel), say: (line) => void err.write(`${line}\n`) }
}

/** Tells of an error; resolves to its exit code. */
export function reportError(error: unknown, { err }: Pick<CommandOptions, 'err'>): number {
  const text = error instanceof Error ? error.message : String(error)
  err.write(text.split('\n').map((line) => `mlops-apiserver: ${line}\n`).join(''))
  return exitCodeOf(error)
}

/** Writes results in the form that was asked for. */
export function printer({ output, out }: Pick<CommandOptions, 'output' | 'out'>): CommandContext['print'] {
  return (value, text) => {
    const lines = output === 'json' ? [JSON.stringify(value, null, 2)] : text(value)
    out.write(lines.map((line) => `${line}\n`).join(''))
  }
}

/** The resource that a command is about: the one that was named, else the only one that has several versions. Throws UsageError. */
export async function chooseResource({ resource, admin }: Pick<CommandContext, 'resource' | 'admin'>): Promise<StorageStatus> {
  if (resource !== undefined) return await admin.status(resource)
  const all = await admin.list()
  const several = all.filter(({ versions }) => versions.length > 1)
  const [only, ...more] = several
  if (only && more.length === 0) return only
  if (!only) throw new UsageError(all.length === 0 ? 'the store is empty' : 'no resource of the store has several versions: name one with --resource')
  throw new UsageError(`several resources have several versions: name one with --resource (${several.map((status) => status.resource).join(', ')})`)
}
