/** `storage backup` and `storage restore`: a bundle in a file. */
import { createReadStream } from 'node:fs'
import { access, constants, open, rename, rm, stat } from 'node:fs/promises'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { Compacted, OutOfSpace } from '../../../storage/backend.ts'
import { restore, type BundleTrailer } from '../../../storage/backup.ts'
import { makeDirectories } from '../../base/make-directories.ts'
import { openBackend } from '../open-backend.ts'
import { programName } from '../own-version.ts'
import { openProgress } from '../show-progress.ts'
import { formatCount } from './describe.ts'
import { UsageError } from './exit-code.ts'
import { printer, reportError, runStorageCommand, surroundings, type CommandContext, type CommandOptions } from './run-command.ts'

/** Takes that the store's compaction may spoil. */
const ATTEMPTS = 3

/** Writes a bundle of the whole store into a new file, `-` for standard output; the file is there whole or not at all. */
export function runBackup(options: CommandOptions, file: string): Promise<number> {
  return runStorageCommand(options, async (context) => {
    if (file !== '-') await checkNew(file)
    for (let attempt = 1; ; attempt++) {
      try {
        await write(context, file)
        break
      } catch (error) {
        if (!(error instanceof Compacted) || attempt === ATTEMPTS || file === '-') throw error
      }
    }
    return 0
  })
}

async function write({ admin, out, output, say, print }: CommandContext, file: string): Promise<void> {
  if (file === '-') {
    for await (const line of admin.backup()) if (!out.write(line)) await once(out, 'drain')
    return
  }
  const draft = `${file}.part`
  const handle = await open(draft, 'w', 0o600).catch((error: unknown) => {
    throw fileError(error, file, 'written')
  })
  try {
    let last = ''
    for await (const line of admin.backup()) {
      last = line
      await handle.writeFile(line)
    }
    await handle.sync()
    await handle.close()
    await checkNew(file)
    await rename(draft, file)
    const trailer = JSON.parse(last) as BundleTrailer
    if (output === 'json') print({ file, ...trailer }, () => [])
    else say(`${file}: ${formatCount(trailer.count)} entries`)
  } catch (error) {
    await handle.close()
    await rm(draft, { force: true })
    throw fileError(error, file, 'written')
  }
}

// An older bundle may be the only way back.
async function checkNew(file: string): Promise<void> {
  if (await stat(file).catch(() => undefined)) throw new UsageError(`${file} is there already: a backup goes into a new file`)
}

/** What the system says of a file, with the file's own name. */
function fileError(error: unknown, file: string, done: string): unknown {
  if (!(error instanceof Error && 'code' in error && 'syscall' in error)) return error
  const reason = /^[A-Z]+: (.*?)(, \w+( '.*)?)?$/.exec(error.message)?.[1] ?? error.message
  const message = `${file} cannot be ${done}: ${reason}`
  return error.code === 'ENOSPC' || error.code === 'EDQUOT' ? new OutOfSpace(message, { cause: error }) : new UsageError(message, { cause: error })
}

/** Puts a bundle into an empty store that no server uses; goes on where the same restore was left. */
export async function runRestore(options: CommandOptions, file: string): Promise<number> {
  const { place } = options
  const { clock, log } = surroundings(options)
  const display = options.err.isTTY ? openProgress(options.err) : undefined
  try {
    if (place.kind !== 'store') throw new UsageError('restore needs the store itself, which no server may use: give --data-dir or --etcd-servers')
    await checkReadable(file)
    if (place.config.etcdServers.length === 0) makeDirectories(place.config.dataDir)
    const { backend, mark } = await openBackend(place.config, { clock, log })
    try {
      const lines = (): AsyncIterable<string> => createInterface({ input: createReadStream(file), crlfDelay: Infinity })
      const onProgress = (done: number, total: number): void => display?.update('restore', { done, total, message: file })
      const above = (await mark.read())?.revision
      const trailer = await restore(backend, lines, { program: programName(), clock, onProgress, ...(above !== undefined && { above }) })
      display?.stop()
      printer(options)(trailer, ({ count }) => [`${formatCount(count)} entries restored`])
      return 0
    } finally {
      display?.stop()
      await backend.close()
    }
  } catch (error) {
    return reportError(error, options)
  }
}

async function checkReadable(file: string): Promise<void> {
  if (file === '-') throw new UsageError('a bundle is read twice, which standard input cannot be: give a file')
  try {
    await access(file, constants.R_OK)
    if ((await stat(file)).isFile()) return
  } catch (error) {
    throw fileError(error, file, 'read')
  }
  throw new UsageError(`${file} is no file: a bundle is read twice`)
}
