/** `storage migrate` and `retire-version`: the whole way to another version, or of one into retirement, followed until its end; and what steers a migration that somebody else runs. */
import { Refused } from '../../../storage/refused.ts'
import type { Migration, StorageAdmin } from '../../registry/storage-admin.ts'
import { openProgress, type ProgressDisplay } from '../show-progress.ts'
import { describeAccount, describeDone, describeDryRun, describeProgress, isAtWork, isShort } from './describe.ts'
import { INTERRUPTED, migrationExitCode } from './exit-code.ts'
import { chooseResource, runStorageCommand, type CommandContext, type CommandOptions } from './run-command.ts'

export interface MigrateOptions {
  /** Change the encoding version first. */
  readonly to?: string
  readonly acceptRollback?: boolean
  readonly dismissed?: readonly string[]
  /** Objects a second, at most. */
  readonly rate?: number
  readonly action: 'run' | 'dry-run' | 'pause' | 'abort'
}

const POLL_MS = 250
/** Off a terminal, a line this often. */
const LINE_MS = 30_000

/** Runs the command. */
export function runMigrate(options: CommandOptions, migrate: MigrateOptions): Promise<number> {
  return runStorageCommand(options, async (context) => {
    const { resource } = await chooseResource(context)
    switch (migrate.action) {
      case 'dry-run':
        return await preview(context, resource, migrate.to)
      case 'pause':
        return printMigration(context, await context.admin.pause(resource))
      case 'abort':
        return printMigration(context, await context.admin.abort(resource))
      case 'run':
        return await run(context, resource, migrate)
    }
  })
}

function printMigration({ print }: CommandContext, migration: Migration): number {
  print(migration, ({ id, phase }) => [`migration ${id} is ${phase}`])
  return 0
}

async function preview({ admin, print, err, signal }: CommandContext, resource: string, version: string | undefined): Promise<number> {
  const display = err.isTTY ? openProgress(err) : undefined
  try {
    const onProgress = ({ done, total }: { done: number; total: number }): void => display?.update('dry run', { done, total, message: resource })
    const found = await admin.preview(resource, { onProgress, ...(version !== undefined && { version }), ...(signal && { signal }) })
    display?.stop()
    print(found, describeDryRun)
    return found.quarantined > 0 ? 6 : 0
  } finally {
    display?.stop()
  }
}

async function run(context: CommandContext, resource: string, { to, acceptRollback, dismissed, rate }: MigrateOptions): Promise<number> {
  const { admin } = context
  if (to !== undefined) await admin.setVersion(resource, { version: to, ...(acceptRollback && { acceptRollback }), ...(dismissed && { dismissed }) })
  return await carryOut(context, resource, () => admin.migrate(resource, rate === undefined ? {} : { rate }))
}

/** Retires a version, followed until its end. */
export function runRetireVersion(options: CommandOptions, { version, rate }: { readonly version: string; readonly rate?: number }): Promise<number> {
  return runStorageCommand(options, async (context) => {
    const { resource } = await chooseResource(context)
    return await carryOut(context, resource, () => context.admin.retire(resource, version, rate === undefined ? {} : { rate }))
  })
}

async function carryOut(context: CommandContext, resource: string, start: () => Promise<Migration>): Promise<number> {
  const { admin, print, say, storage } = context
  const ended = await follow(context, resource, start)
  if (!ended) {
    say(storage.remote ? 'left: the migration goes on in the server, and the same command follows it' : 'interrupted: the same command continues')
    return INTERRUPTED
  }
  const status = await admin.status(resource)
  const { storedVersions, retiredVersions, next } = status
  print({ migration: ended, storedVersions, retiredVersions, next }, () => describeAccount(ended, status))
  return migrationExitCode(ended)
}

/** Begins, continues or joins the migration; resolves to how it ended, undefined when the signal came first. */
async function follow(context: CommandContext, resource: string, start: () => Promise<Migration>): Promise<Migration | undefined> {
  const { admin, clock, signal } = context
  const display = openDisplay(context, resource)
  try {
    let migration = await begin(admin, resource, start)
    for (;;) {
      display.update(migration)
      if (isOver(migration)) return migration
      if (signal?.aborted) return undefined
      await clock.sleep(POLL_MS, signal).catch(() => {})
      // Nobody is at work: the process that was has died, or another one is about to take over.
      migration = migration.owner === undefined ? await begin(admin, resource, start) : ((await admin.migration(resource)) ?? migration)
    }
  } finally {
    display.stop()
  }
}

// Another process may be at work already: then it is followed.
async function begin(admin: StorageAdmin, resource: string, start: () => Promise<Migration>): Promise<Migration> {
  try {
    return await start()
  } catch (error) {
    const running = error instanceof Refused && error.reason === 'LostOwnership' ? await admin.migration(resource) : undefined
    if (running?.owner === undefined) throw error
    return running
  }
}

function isOver({ phase, failure, owner }: Migration): boolean {
  if (owner !== undefined) return false
  return failure !== undefined || !isAtWork(phase)
}

interface MigrationDisplay {
  update(migration: Migration): void
  stop(): void
}

function openDisplay({ err, clock }: CommandContext, resource: string): MigrationDisplay {
  const display: ProgressDisplay = openProgress(err)
  let shown = { phase: '', short: false, at: Number.NEGATIVE_INFINITY }
  return {
    update(migration) {
      const { phase, done, total } = migration
      const now = clock.monotonic()
      const short = isShort(migration)
      if (!err.isTTY && shown.phase === phase && shown.short === short && now - shown.at < LINE_MS) return
      shown = { phase, short, at: now }
      const place = err.isTTY ? '' : `${describeDone(migration)}, `
      display.update(resource, { done, total: Math.max(total, done), message: place + describeProgress(migration) })
    },
    stop: () => display.stop(),
  }
}
