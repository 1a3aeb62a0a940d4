/** The migrations that run in this process, at most one for each resource. */
import type { Backend } from '../../storage/backend.ts'
import { migrate } from '../../storage/migrate.ts'
import type { Job } from '../../storage/migrate-job.ts'
import type { Progress } from '../../storage/migrate-progress.ts'
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { AdminResource } from './admin-resource.ts'

/** A migration of this process. */
export interface Running {
  /** What it shows; undefined before it has begun. */
  readonly progress: Progress | undefined
  /** When it last got further, milliseconds since the epoch. */
  readonly advancedAt: number
  /** Why it gave up; undefined while it runs, and when it came to an end of its own. */
  readonly failure: Error | undefined
  readonly over: boolean
}

/** How one is begun. */
export interface StartOptions {
  /** Objects a second at most. */
  readonly rateLimit?: number
  /** The version to retire; absent: a migration. */
  readonly retiring?: string
}

/** See `openMigrationRunner`. */
export interface MigrationRunner {
  /** Begins or continues the migration, or the retirement of a version, unless this process runs one; resolves when it is under way or has ended. Rejects as `migrate` does. */
  start(resource: AdminResource, options: StartOptions): Promise<void>
  /** The last one that this process ran. */
  find(resource: string): Running | undefined
  /** Pauses all, for whoever continues them. */
  close(): Promise<void>
}

interface Run {
  progress: Progress | undefined
  advancedAt: number
  failure: Error | undefined
  over: boolean
  done: Promise<Job | undefined>
}

/** Opens a runner. `owner` names this process to others. */
export function openMigrationRunner(options: { readonly backend: Backend; readonly clock: Clock; readonly log: Log; readonly owner: string }): MigrationRunner {
  const { backend, clock, log, owner } = options
  const runs = new Map<string, Run>()
  const stop = new AbortController()
  const begin = (resource: AdminResource, { rateLimit, retiring }: StartOptions, onBegun: () => void): Run => {
    const run: Run = { progress: undefined, advancedAt: clock.now(), failure: undefined, over: false, done: Promise.resolve(undefined) }
    const onProgress = (progress: Progress): void => {
      if (run.progress?.done !== progress.done || run.progress.phase !== progress.phase) run.advancedAt = clock.now()
      run.progress = progress
      onBegun()
    }
    run.done = migrate({
      backend, resource: resource.resource, codec: resource.codec, clock, log, owner, onProgress, signal: stop.signal,
      ...(rateLimit !== undefined && { rateLimit }), ...(retiring !== undefined && { retiring }),
    })
      .catch((error: unknown) => {
        run.failure = error instanceof Error ? error : new Error(String(error))
        return undefined
      })
      .finally(() => {
        run.over = true
      })
    return run
  }
  return {
    async start(resource, options) {
      const current = runs.get(resource.resource)
      if (current && !current.over) return
      const begun = Promise.withResolvers<void>()
      const run = begin(resource, options, begun.resolve)
      runs.set(resource.resource, run)
      await Promise.race([begun.promise, run.done])
      if (run.failure && !run.progress) throw run.failure
      void run.done.then(() => {
        if (run.failure) log.warn('a migration has stopped', { resource: resource.resource, err: run.failure })
      })
    },
    find: (resource) => runs.get(resource),
    async close() {
      stop.abort()
      await Promise.all([...runs.values()].map(({ done }) => done))
    },
  }
}
