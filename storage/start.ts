/**
 * The start of a program on a store: every reason why it must not serve is found before it does, each with its exit code and one message that says what to do.
 * Afterwards the fence is watched: a program that can no longer decode what may be stored says so, and serves nothing of the resource.
 */
import type { Backend } from './backend.ts'
import { checkRestored } from './backup.ts'
import { peekVersion } from './envelope.ts'
import { followFence } from './follow-fence.ts'
import { openFence, UndecodableStoredVersions } from './fence.ts'
import type { Fence } from './fence.ts'
import { fenceKey, parseFence } from './fence-record.ts'
import type { LoadedFence } from './fence-record.ts'
import { checkMark, keepMark } from './high-water-mark.ts'
import type { MarkKeeper, MarkPlace } from './high-water-mark.ts'
import { Refused } from './refused.ts'
import { register } from './replicas.ts'
import type { Announcement, Registration } from './replicas.ts'
import { checkRevisions } from './revision-offset.ts'
import { readPages } from './scan-page.ts'
import { openStoreFormat } from './store-format.ts'
import type { StoreFormat } from './store-format.ts'
import type { Clock } from '../src/base/clock.ts'
import type { Log } from '../src/base/log.ts'
import { plural } from '../src/base/plural.ts'

/** Who starts, and with what. */
export interface Program {
  /** Name and release, for example "mlops-apiserver 0.1.0". */
  readonly name: string
  /** Of this process: new with each start. */
  readonly replica: string
  readonly clock: Clock
  readonly log: Log
}

/** A store that may be used. */
export interface StartedStore extends AsyncDisposable {
  readonly format: StoreFormat
}

/** Checks the store as a whole: exit codes 10 and 11. `place` keeps the high-water mark. Throws Refused. */
export async function startStore(backend: Backend, program: Program, place?: MarkPlace): Promise<StartedStore> {
  const format = await openStoreFormat(backend, program.name, program.clock)
  await checkRevisions(backend)
  await checkRestored(backend)
  let keeper: MarkKeeper | undefined
  if (place) {
    await checkMark(backend, place, format.id)
    keeper = await keepMark(backend, place, format.id, program)
  }
  return { format, [Symbol.asyncDispose]: async () => keeper?.close() }
}

/** What a program knows of a resource. */
export interface ResourceStart {
  readonly backend: Backend
  /** `<plural>.<group>` */
  readonly resource: string
  readonly program: Program
  /** The version that a new store starts with. */
  readonly encodingVersion: string
  readonly decodable: readonly string[]
  readonly encodable: readonly string[]
  readonly served: readonly string[]
  /** Digest of a version's present schema. */
  readonly schemaDigest: (version: string) => string | undefined
  /** Released: a version's schema never changes once it was released. FromFile: the operator's file says what it is now. */
  readonly schemas: 'Released' | 'FromFile'
  /** Throws when the program does not decode its own golden objects to what they are. */
  readonly selfTest?: () => void
  /** Only this process can open the store. */
  readonly exclusive: boolean
  /** Do not start rather than serve without writing. */
  readonly refuseReadOnly?: boolean
}

/** Serving; ReadOnly: it cannot encode the encoding version; Unable: it cannot decode a version that may be stored. */
export type ResourceState = Announcement['state']

/** A resource that may be served. */
export interface StartedResource extends AsyncDisposable {
  readonly fence: Fence
  /** Changes when the fence does. While Unable, nothing of the resource may be served: 503. */
  readonly state: ResourceState
  /** Why it is not Serving. */
  readonly problem: Error | undefined
  /** Aborts when it turns Unable: what is still being served must end. Another one takes its place when it is able again. */
  readonly able: AbortSignal
}

const ENVELOPE_FORMATS = [1]
/** Starts that lost against a change of the fence. */
const ATTEMPTS = 10

/** Checks a resource (exit codes 11 to 15), registers the replica and follows the fence. Throws Refused. */
export async function startResource(options: ResourceStart): Promise<StartedResource> {
  const { backend, resource, program, schemaDigest, encodingVersion, decodable } = options
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    await checkStoredVersions(options)
    const fence = await openFence(backend, resource, { encodingVersion, decodable, schemaDigest, now: program.clock.now }).catch((error: unknown) => {
      if (error instanceof UndecodableStoredVersions) return undefined
      throw error
    })
    if (!fence) continue
    const state = checkRecord(options, fence.current())
    if (attempt === 0) checkSelf(options)
    const registration = await register(
      { backend, resource, clock: program.clock, log: program.log, exclusive: options.exclusive, announcement: announcementOf(options, fence.current(), state) },
      fence.current(),
    )
    if (registration) return follow(options, fence, registration, state)
  }
  throw new Refused('Changed', `the fence of ${resource} keeps changing: try again`)
}

function announcementOf({ program, decodable, encodable, served }: ResourceStart, fence: LoadedFence, state: ResourceState): Announcement {
  return { id: program.replica, program: program.name, decodable, encodable, served, formats: ENVELOPE_FORMATS, observedEpoch: fence.epoch, state }
}

async function checkStoredVersions({ backend, resource, decodable, program }: ResourceStart): Promise<void> {
  const kv = await backend.get(fenceKey(resource))
  if (!kv) return
  const fence = parseFence(fenceKey(resource), kv)
  const unknown = fence.storedVersions.filter(({ version }) => !decodable.includes(version))
  if (unknown.length === 0) return
  const counts = await countByVersion(backend, resource)
  const names = unknown.map((entry) => `${entry.version} (${plural(counts.get(entry.version) ?? 0, 'object')}, entered by ${entry.reason}${entry.since ? ` on ${entry.since}` : ''})`)
  const target = decodable.at(-1)
  throw new Refused(
    'UndecodableVersion',
    `${resource} may have objects stored at ${names.join(', ')}, and ${program.name} decodes only ${decodable.join(', ')}. Nothing was changed. ` +
      `Run the release that wrote them, or with that release: storage set-version ${target}, then storage migrate`,
  )
}

/** How many objects of a resource are stored at which version, by their headers; "" for bytes without one. */
export async function countByVersion(backend: Backend, resource: string): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>()
  for await (const page of readPages(backend, `data/${resource}/`)) {
    for (const { value } of page) {
      const version = versionOf(value)
      counts.set(version, (counts.get(version) ?? 0) + 1)
    }
  }
  return counts
}

function versionOf(value: Uint8Array): string {
  try {
    return peekVersion(value)
  } catch {
    return ''
  }
}

function checkRecord(options: ResourceStart, fence: LoadedFence): ResourceState {
  const { resource, schemas, schemaDigest, program } = options
  if (fence.mode === 'Importing') {
    throw new Refused('IncompleteRestore', `a restore of ${resource} has not ended, objects may be missing: give the same storage restore again, which continues`)
  }
  const edited = fence.storedVersions.filter((entry) => entry.schemaDigest !== undefined && entry.schemaDigest !== schemaDigest(entry.version))
  if (schemas === 'Released' && edited.length > 0) {
    throw new Refused(
      'EditedSchema',
      `the schema of ${edited.map(({ version }) => version).join(', ')} of ${resource} is not the one that its objects were stored under: a released schema was edited in ${program.name}. ` +
        'Run an unedited release; a change of the schema needs a new version',
    )
  }
  return stateOf(options, fence)
}

function stateOf({ resource, encodable, refuseReadOnly, program }: ResourceStart, fence: LoadedFence): ResourceState {
  if (encodable.includes(fence.encodingVersion)) return 'Serving'
  if (!refuseReadOnly) return 'ReadOnly'
  throw new Refused('UnencodableVersion', `${program.name} cannot write ${resource} at ${fence.encodingVersion}, which is its encoding version: run a release that can`)
}

function checkSelf({ resource, selfTest, program }: ResourceStart): void {
  try {
    selfTest?.()
  } catch (cause) {
    throw new Refused('SelfTestFailed', `${program.name} does not read its own samples of ${resource}: ${messageOf(cause)}. This program is damaged: install it again`, { cause })
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

function follow(options: ResourceStart, fence: Fence, registration: Registration, first: ResourceState): StartedResource {
  const { backend, resource, program } = options
  let [state, problem, epoch] = [first, undefined as Error | undefined, fence.current().epoch]
  let able = new AbortController()
  const settle = async (failure: Error | undefined): Promise<void> => {
    const next = failure ? 'Unable' : stateOf({ ...options, refuseReadOnly: false }, fence.current())
    if (next === state && fence.current().epoch === epoch) return
    if (failure) program.log.error('the resource can no longer be served', { resource, err: failure })
    ;[state, problem, epoch] = [next, failure, fence.current().epoch]
    if (failure) able.abort()
    else if (able.signal.aborted) able = new AbortController()
    await registration.update({ state, observedEpoch: epoch })
  }
  const following = followFence(backend, fence, { clock: program.clock, log: program.log, onChange: settle })
  return {
    fence,
    get state() {
      return state
    },
    get problem() {
      return problem
    },
    get able() {
      return able.signal
    },
    async [Symbol.asyncDispose]() {
      await following.close()
      await registration.close()
    },
  }
}
