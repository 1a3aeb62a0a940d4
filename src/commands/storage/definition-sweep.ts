/** Writing every object of a definition at its storage version, by patches that change nothing, and the proof that this has been done. */
import { ApiError } from '../../worker/job-client.ts'
import { NO_COUNTERS, type Counters } from '../../../storage/migrate-job.ts'
import type { DefinitionApi, ListedObject, LiveDefinition } from './definition-api.ts'
import { patiently, type Waiting } from './patiently.ts'

/** What a sweep did. */
export interface Sweep {
  readonly counters: Counters
  /** Objects that the server does not write, the first of them. */
  readonly bad: readonly { readonly key: string; readonly message: string }[]
  /** Objects that others kept writing, so that nobody can tell whether the last write was at the storage version. */
  readonly unsettled: number
  readonly startRevision: number
}

export interface SweepOptions extends Waiting {
  readonly api: DefinitionApi
  readonly definition: LiveDefinition
  /** Go on with each object until a patch leaves it as it is: from then on it is stored as it should be. */
  readonly settle: boolean
  readonly dryRun?: true
  /** Objects a second at most; 0: as fast as the server answers. */
  readonly rate: number
  readonly onProgress: (progress: { readonly done: number; readonly total: number; readonly counters: Counters }) => void
}

const PARALLEL = 8
const LISTED_BAD = 100
const TRIES = 10

type Tally = { -readonly [K in keyof Counters]: number }

/** One pass over all objects that there are when it begins. Rejects when the server does not answer, or cannot list them. */
export async function sweepObjects(options: SweepOptions): Promise<Sweep> {
  const { api, definition, clock, signal, onProgress, rate } = options
  const objects: ListedObject[] = []
  const startRevision = await patiently(options, () => {
    objects.length = 0
    return api.list(definition, definition.storageVersion, (object) => void objects.push({ ...object, object: {} }), signal)
  })
  const counters: Tally = { ...NO_COUNTERS }
  const bad: { key: string; message: string }[] = []
  let unsettled = 0
  const begun = clock.monotonic()
  const pending = objects.values()
  const work = async (): Promise<void> => {
    for (const object of pending) {
      signal.throwIfAborted()
      const outcome = await visit(options, object, counters)
      counters.seen++
      counters[typeof outcome === 'object' ? 'quarantined' : outcome === 'unsettled' ? 'rewritten' : outcome]++
      if (outcome === 'unsettled') unsettled++
      if (typeof outcome === 'object' && bad.length < LISTED_BAD) bad.push({ key: object.key, message: outcome.message })
      onProgress({ done: counters.seen, total: objects.length, counters: { ...counters } })
      if (rate > 0) await clock.sleep(Math.max(0, (counters.seen * 1000) / rate - (clock.monotonic() - begun)), signal)
    }
  }
  await Promise.all(Array.from({ length: PARALLEL }, work))
  return { counters, bad, unsettled, startRevision }
}

type Outcome = 'rewritten' | 'current' | 'vanished' | 'unsettled' | { readonly message: string }

async function visit(options: SweepOptions, object: ListedObject, counters: Tally): Promise<Outcome> {
  const { api, settle, dryRun, signal } = options
  let before = object.resourceVersion
  for (let attempt = 1; ; attempt++) {
    try {
      const after = await patiently(options, () => api.touch(object, { signal, ...(dryRun && { dryRun }) }))
      if (after === before || !settle) return after === object.resourceVersion ? 'current' : 'rewritten'
      if (attempt === TRIES) return 'unsettled'
      before = after
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      // One of the same name that was made anew is stored as the server stores now.
      if (error.code === 404 || (error.code === 409 && /uid|UID/.test(error.message))) return 'vanished'
      if (error.code !== 409 || attempt === TRIES) return { message: error.message }
      counters.conflicts++
    }
  }
}
