/**
 * A bundle: all objects and fences of a store at one revision, as lines of JSON with a digest at the end. It goes into an empty store of either kind, in which
 * revisions go on from those of the old one, so that no client takes an old revision for a new one.
 */
import { createHash } from 'node:crypto'
import type { Clock } from '../src/base/clock.ts'
import { OutOfSpace } from './backend.ts'
import type { Backend, CommitRequest } from './backend.ts'
import { commitOnce } from './commit-once.ts'
import { encodeFence, parseFence } from './fence-record.ts'
import type { LoadedFence } from './fence-record.ts'
import { endImport } from './fence-change.ts'
import { withOffset } from './offset-backend.ts'
import { Refused } from './refused.ts'
import { OFFSET_KEY, type RevisionOffset } from './revision-offset.ts'
import { readPages } from './scan-page.ts'
import { FORMAT_KEY, newStoreFormat, PLAIN_FORMAT, readStoreFormat, STORE_FORMAT } from './store-format.ts'

const FORMAT = 'mlops.dev/bundle.1'
/** In a store that is being restored: of which bundle. */
const RESTORE_KEY = 'meta/restore'
/** Fences that one transaction changes, below etcd's limit of 128 operations. */
const FENCES_AT_ONCE = 50
const FENCES = 'meta/fence/'
const OBJECTS = 'data/'
const EVERYTHING = { start: '\0', end: '\u{10ffff}' }
/** Objects that are written at once. */
const IN_FLIGHT = 64
/** What the old store may have gone on to after the bundle was taken, or the mark was written. */
const MARGIN = 1_000_000
/** Below it, revisions stay safe integers whatever comes. */
const HIGHEST_REVISION = 2 ** 52

/** First line. */
export interface BundleHeader {
  readonly bundle: typeof FORMAT
  /** Of the store that it was taken from. */
  readonly store: string
  readonly storeFormat: number
  readonly engine: string
  readonly revision: number
  readonly takenAt: string
  readonly program: string
}

/** Last line. */
export interface BundleTrailer {
  readonly count: number
  /** Of all lines before it, with their line feeds. */
  readonly sha256: string
}

interface BundleEntry {
  readonly key: string
  /** Base64. */
  readonly value: string
  readonly modRevision: number
}

/** The lines of a bundle, each with its line feed. Rejects with Refused for half a restore, with Compacted when the store forgets the revision meanwhile: begin anew. */
export async function* backup(backend: Backend, about: { readonly program: string; readonly now: number }): AsyncGenerator<string, BundleTrailer> {
  await checkRestored(backend)
  const format = await readStoreFormat(backend)
  const { engine, revision } = await backend.status()
  const header: BundleHeader = {
    bundle: FORMAT, store: format?.id ?? '', storeFormat: PLAIN_FORMAT, engine, revision,
    takenAt: new Date(about.now).toISOString(), program: about.program,
  }
  const digest = createHash('sha256')
  let count = 0
  const line = (value: object): string => {
    const text = `${JSON.stringify(value)}\n`
    digest.update(text)
    return text
  }
  yield line(header)
  for (const prefix of [FENCES, OBJECTS]) {
    for await (const page of readPages(backend, prefix, revision)) {
      count += page.length
      for (const { key, value, modRevision } of page) yield line({ key, value: Buffer.from(value).toString('base64'), modRevision } satisfies BundleEntry)
    }
  }
  const trailer: BundleTrailer = { count, sha256: digest.digest('hex') }
  yield `${JSON.stringify(trailer)}\n`
  return trailer
}

/** Reads a bundle's lines (without line feeds), checks all of it and returns its ends. Throws Refused for one that is cut off or changed. */
export async function checkBundle(lines: AsyncIterable<string>): Promise<{ readonly header: BundleHeader; readonly trailer: BundleTrailer }> {
  const reading = readBundle(lines)
  let item = await reading.next()
  while (!item.done) item = await reading.next()
  return item.value
}

async function* readBundle(lines: AsyncIterable<string>): AsyncGenerator<BundleEntry, { header: BundleHeader; trailer: BundleTrailer }> {
  const digest = createHash('sha256')
  let header: BundleHeader | undefined
  let held: string | undefined
  let count = 0
  for await (const line of lines) {
    if (line === '') continue
    if (held !== undefined) {
      digest.update(`${held}\n`)
      if (!header) header = parseHeader(held)
      else {
        count++
        yield parseEntry(held)
      }
    }
    held = line
  }
  if (held === undefined) throw new Refused('DamagedBundle', 'the bundle is empty')
  const trailer = parseTrailer(held, header !== undefined)
  if (!header || trailer.count !== count || trailer.sha256 !== digest.digest('hex')) {
    throw new Refused('DamagedBundle', `the bundle is cut off or was changed: its last line does not match the ${count} entries before it`)
  }
  return { header, trailer: trailer as BundleTrailer }
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch (cause) {
    throw new Refused('DamagedBundle', 'the bundle has a line that is not JSON', { cause })
  }
}

// The last line of a bundle that is cut off is mostly half a line.
function parseTrailer(line: string, isLast: boolean): Partial<BundleTrailer> {
  try {
    return (JSON.parse(line) ?? {}) as Partial<BundleTrailer>
  } catch (cause) {
    throw new Refused('DamagedBundle', isLast ? 'the bundle is cut off: its last line is not whole' : 'the bundle has a line that is not JSON', { cause })
  }
}

function parseHeader(line: string): BundleHeader {
  const header = parse(line) as Partial<BundleHeader> | null
  if (header?.bundle !== FORMAT || !isRevision(header.revision)) throw new Refused('DamagedBundle', `this is no bundle of the form ${FORMAT}`)
  if ((header.storeFormat ?? 0) > STORE_FORMAT) throw new Refused('NewerStore', `the bundle has store format ${header.storeFormat}, this program reads ${STORE_FORMAT}`)
  return header as BundleHeader
}

function isRevision(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) < HIGHEST_REVISION
}

function parseEntry(line: string): BundleEntry {
  const entry = parse(line) as Partial<BundleEntry> | null
  const valid = typeof entry?.key === 'string' && typeof entry.value === 'string' && (entry.key.startsWith(OBJECTS) || entry.key.startsWith(FENCES))
  if (!valid) throw new Refused('DamagedBundle', 'the bundle has a line that is no entry')
  return entry as BundleEntry
}

/** How a bundle is put into a store. */
export interface RestoreOptions {
  /** Name and release of the program. */
  readonly program: string
  readonly clock: Clock
  /** A revision that clients may have seen, when that is above the bundle's. */
  readonly above?: number
  readonly onProgress?: (done: number, total: number) => void
}

/**
 * Puts a bundle into an empty store, or goes on with one whose restore of the same bundle has not ended, which is then to be opened with `openRevisions`. `open` gives its lines,
 * twice: all of it is checked before anything is written. Revisions go on from those of the old store: where the backend's are lower, an offset makes up for it, and the store is
 * to be opened with `openRevisions` from then on. Until the end every resource is Importing, so that no program serves half of it. Throws Refused for a store that has something
 * else, OutOfSpace with how far it has come.
 */
export async function restore(into: Backend, open: () => AsyncIterable<string>, options: RestoreOptions): Promise<BundleTrailer> {
  const { header, trailer } = await checkBundle(open())
  let done = 0
  const onProgress = (): void => options.onProgress?.(++done, trailer.count)
  try {
    const backend = (await hasBegun(into, trailer)) ? into : await beginStore(into, header, trailer, options)
    await importAll(backend, open, onProgress)
    return trailer
  } catch (error) {
    if (!(error instanceof OutOfSpace)) throw error
    throw new OutOfSpace(`the store has no room for all of the bundle, ${done} of ${trailer.count} entries are in it: make room, and give the same restore again, which continues (${error.message})`, { cause: error })
  }
}

async function importAll(backend: Backend, open: () => AsyncIterable<string>, onProgress: () => void): Promise<void> {
  const importing = new Map<string, LoadedFence>()
  const writing = new Set<Promise<unknown>>()
  const failures: unknown[] = []
  for await (const entry of readBundle(open())) {
    if (entry.key.startsWith(FENCES)) importing.set(entry.key.slice(FENCES.length), await beginImport(backend, entry))
    else {
      const one = importObject(backend, entry, importing).catch((error: unknown) => failures.push(error)).finally(() => writing.delete(one))
      writing.add(one)
      if (writing.size >= IN_FLIGHT) await Promise.race(writing)
      if (failures.length > 0) break
    }
    onProgress()
  }
  await Promise.all(writing)
  if (failures.length > 0) throw failures[0]
  await endAll(backend, importing)
}

/** Lets all resources be used, at once where there are not very many, and then forgets that there was a restore. */
async function endAll(backend: Backend, importing: ReadonlyMap<string, LoadedFence>): Promise<void> {
  const ends = [...importing].filter(([, fence]) => fence.mode === 'Importing').map(([resource, fence]) => endImport({ resource, fence }))
  for (let i = 0; i < ends.length; i += FENCES_AT_ONCE) {
    const some = ends.slice(i, i + FENCES_AT_ONCE)
    const last = i + FENCES_AT_ONCE >= ends.length
    const request = { compare: some.flatMap(({ compare }) => compare), put: some.flatMap(({ put = [] }) => put), delete: last ? [RESTORE_KEY] : [], essential: true }
    await commitNew(backend, request, request.put[0]!.key)
  }
  if (ends.length === 0) await backend.commit({ compare: [], delete: [RESTORE_KEY] })
}

/** Whether a restore of this bundle has begun in the store and not ended; false: the store is empty. Throws Refused for any other. */
async function hasBegun(backend: Backend, { sha256 }: BundleTrailer): Promise<boolean> {
  const kv = await backend.get(RESTORE_KEY)
  const found = kv && (JSON.parse(Buffer.from(kv.value).toString()) as Partial<Restore>)
  if (found?.sha256 === sha256) return true
  if (found) {
    throw new Refused('NotEmpty', `the store is half a restore of another bundle, taken on ${found.takenAt} (sha256 ${found.sha256}): give the restore of that one again, which continues, or restore into a new store`)
  }
  const { count } = await backend.range({ ...EVERYTHING, countOnly: true })
  if (count > 0) throw new Refused('NotEmpty', `the store is not empty (${count} keys): restore into a new one, nothing was written`)
  return false
}

/** Throws Refused for a store whose restore has not ended: objects may be missing. */
export async function checkRestored(backend: Backend): Promise<void> {
  if (await backend.get(RESTORE_KEY)) throw new Refused('IncompleteRestore', 'a restore into this store has not ended, objects may be missing: give the same storage restore again, which continues')
}

/** The record of a restore that has not ended. */
interface Restore {
  readonly sha256: string
  readonly takenAt: string
}

/** Writes the records of the store, on the condition that it is still empty; returns it at the revisions that it has from then on. */
async function beginStore(empty: Backend, header: BundleHeader, { sha256 }: BundleTrailer, { program, clock, above = 0 }: RestoreOptions): Promise<Backend> {
  const floor = Math.max(header.revision, above) + MARGIN
  if (floor >= HIGHEST_REVISION) throw new Refused('RestoredSnapshot', `clients may have seen revision ${above}, and no store counts on from there: if the high-water mark is damaged, remove it`)
  const offset = Math.max(0, floor - (await empty.currentRevision()))
  const format = newStoreFormat(program, clock, offset > 0 ? STORE_FORMAT : PLAIN_FORMAT)
  const records: [key: string, record: object][] = [[FORMAT_KEY, format], [RESTORE_KEY, { sha256, takenAt: header.takenAt } satisfies Restore]]
  if (offset > 0) records.push([OFFSET_KEY, { offset, above: floor, from: header.store } satisfies RevisionOffset])
  const request: CommitRequest = {
    compare: [{ key: FORMAT_KEY, modRevision: 0 }, { ...EVERYTHING, modRevisionBelow: 1 }],
    put: records.map(([key, record]) => ({ key, value: Buffer.from(JSON.stringify(record)) })),
  }
  await commitNew(empty, request, FORMAT_KEY)
  return withOffset(empty, offset)
}

/** The fence as it was, without a job and its revisions, which mean nothing in another store; the one that is there where an earlier call has made it. */
async function beginImport(backend: Backend, entry: BundleEntry): Promise<LoadedFence> {
  const found = await backend.get(entry.key)
  if (found) return parseFence(entry.key, found)
  const { job: _, ...fence } = parseFence(entry.key, { key: entry.key, value: Buffer.from(entry.value, 'base64'), modRevision: 0, createRevision: 0 })
  const storedVersions = fence.storedVersions.map((stored) => ({ ...stored, firstRevision: 0 }))
  const value = encodeFence({ ...fence, storedVersions, mode: 'Importing' })
  await commitNew(backend, { compare: [{ key: entry.key, modRevision: 0 }], put: [{ key: entry.key, value }] }, entry.key)
  return parseFence(entry.key, await backend.get(entry.key))
}

async function importObject(backend: Backend, { key, value }: BundleEntry, importing: ReadonlyMap<string, LoadedFence>): Promise<void> {
  const resource = key.split('/')[1] ?? ''
  const fence = importing.get(resource)
  if (!fence) throw new Refused('DamagedBundle', `the bundle has ${key} without the fence of ${resource}`)
  // It is whole already, and may have been changed since.
  if (fence.mode !== 'Importing') return
  const compare = [{ key, modRevision: 0 }, { key: FENCES + resource, modRevision: fence.modRevision }]
  const bytes = Buffer.from(value, 'base64')
  const result = await commitOnce(backend, { compare, put: [{ key, value: bytes }] }, key)
  const found = result.succeeded ? undefined : result.current.get(key)
  if (!result.succeeded && !(found && bytes.equals(found.value))) throw notAlone(key)
}

async function commitNew(backend: Backend, request: CommitRequest, guard: string): Promise<void> {
  const result = await commitOnce(backend, request, guard)
  if (!result.succeeded) throw notAlone(guard)
}

function notAlone(key: string): Refused {
  return new Refused('NotEmpty', `somebody else writes to the store (${key}): restore into one that nothing uses`)
}
