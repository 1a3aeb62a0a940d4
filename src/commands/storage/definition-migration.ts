/** The migration of a CustomResourceDefinition's objects: sweeps until one finds nothing to do, the proof, and the trim. */
import { Refused } from '../../../storage/refused.ts'
import { NO_COUNTERS, type Counters, type Phase } from '../../../storage/migrate-job.ts'
import type { Proof } from '../../../storage/fence-change.ts'
import { openRate } from '../../../storage/migrate-progress.ts'
import type { Migration } from '../../registry/storage-admin.ts'
import type { DefinitionApi, LiveDefinition } from './definition-api.ts'
import { sweepObjects, type Sweep } from './definition-sweep.ts'
import { PROOF_ANNOTATION, trimVersions, waitUntilStoredAt } from './definition-versions.ts'
import { patiently, type Waiting } from './patiently.ts'

/** A migration under way in this process. */
export interface RunningMigration {
  /** As it is now. */
  migration(): Migration
  /** Ends it; resolves when it does nothing more. What is written stays written. */
  stop(): Promise<void>
}

/** After the first, which writes, a sweep in which every object stands still under a patch is the proof; others may keep writing some. */
const SWEEPS = 5

/** Begins it. It rests nowhere: a later one begins from the start, and what is done already costs a patch that writes nothing. */
export function startDefinitionMigration(api: DefinitionApi, definition: LiveDefinition, options: Waiting & { readonly rate: number }): RunningMigration {
  const { clock, signal, say, rate } = options
  const stopping = new AbortController()
  const meter = openRate(clock)
  const startedAt = new Date(clock.now()).toISOString()
  let state: Migration = {
    id: `${definition.generation}-${clock.uuid().slice(0, 8)}`, resource: definition.name, from: definition.storedVersions, target: definition.storageVersion,
    phase: 'Planned', total: 0, sweep: 0, attempts: 1, startedAt, updatedAt: startedAt, done: 0, counters: NO_COUNTERS, owner: `process ${process.pid}`,
    ...(rate > 0 && { rateLimit: rate }),
  }
  const set = (change: Partial<Migration>): void => {
    state = { ...state, ...change, updatedAt: new Date(clock.now()).toISOString() }
  }
  const enter = (phase: Phase, more: Partial<Migration> = {}): void => set({ phase, ...more })
  const around = { api, definition, rate, clock, say, signal: AbortSignal.any([signal, stopping.signal]) }
  const sweep = async (number: number): Promise<Sweep> => {
    const earlier = state.counters
    enter(number === 1 ? 'Running' : 'Verifying', { sweep: number, done: 0 })
    const onProgress = ({ done, total, counters }: { done: number; total: number; counters: Counters }): void => {
      const speed = meter.add(done)
      set({ done, total, counters: sumOf(earlier, counters), ...(speed > 0 && { rate: speed, etaSeconds: (total - done) / speed }) })
    }
    return await sweepObjects({ ...around, settle: number > 1, onProgress })
  }
  const leave = (change: Partial<Migration>): void => {
    const { owner: _, rate: __, etaSeconds: ___, ...rest } = state
    state = rest
    set(change)
  }
  const work = run({ api, definition, around, sweep, enter }).then(leave, (error: unknown) => leave({ failure: failureOf(error) }))
  return {
    migration: () => state,
    async stop() {
      stopping.abort()
      await work
    },
  }
}

interface Run {
  readonly api: DefinitionApi
  readonly definition: LiveDefinition
  readonly around: Waiting
  readonly sweep: (number: number) => Promise<Sweep>
  readonly enter: (phase: Phase, more?: Partial<Migration>) => void
}

async function run({ api, definition, around, sweep, enter }: Run): Promise<Partial<Migration>> {
  const { name, storageVersion, generation } = definition
  await waitUntilStoredAt(api, name, storageVersion, around)
  for (let number = 1; number <= SWEEPS; number++) {
    const { counters, bad, unsettled, startRevision } = await sweep(number)
    const [first] = bad
    if (first) return { phase: 'Blocked', reason: 'Quarantined', message: `${first.key}: ${first.message}${counters.quarantined > 1 ? `, and ${counters.quarantined - 1} more` : ''}` }
    if (number === 1 || unsettled > 0) continue
    const proof = await keepProof(api, { name, storageVersion, generation, keys: counters.seen - counters.vanished, startRevision, around })
    enter('Trimming', { proof })
    await trimVersions(api, name)
    return { phase: 'Succeeded', proof }
  }
  return { phase: 'Failed', reason: 'OldObjectsFound', message: `some objects are written so often that nobody can tell at which version they are: give the command again when they rest` }
}

interface Proven {
  readonly name: string
  readonly storageVersion: string
  readonly generation: number
  readonly keys: number
  readonly startRevision: number
  readonly around: Waiting
}

async function keepProof(api: DefinitionApi, { name, storageVersion, generation, keys, startRevision, around }: Proven): Promise<Proof> {
  const now = await api.find(name)
  if (now?.generation !== generation) throw new Refused('Changed', `${name} was changed while its objects were migrated: give the command again`)
  const { revision } = await patiently(around, () => api.count(now))
  const proof: Proof = { fenceRevision: generation, startRevision, endRevision: revision, keys, byVersion: keys === 0 ? {} : { [storageVersion]: keys }, undecodable: 0, at: new Date(around.clock.now()).toISOString() }
  await api.annotate(name, { [PROOF_ANNOTATION]: JSON.stringify(proof) })
  return proof
}

// Rewritten and conflicts are of all sweeps, the rest of the last; what an earlier one has rewritten is current in the next.
function sumOf(earlier: Counters, last: Counters): Counters {
  return { ...last, rewritten: earlier.rewritten + last.rewritten, current: Math.max(0, last.current - earlier.rewritten), conflicts: earlier.conflicts + last.conflicts, bytesIn: earlier.bytesIn + last.bytesIn }
}

function failureOf(error: unknown): { readonly message: string; readonly reason?: string } {
  const message = error instanceof Error ? error.message : String(error)
  return error instanceof Refused ? { message, reason: error.reason } : { message }
}
