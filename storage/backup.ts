/**
 * A bundle: all objects and fences of a store at one revision, as lines of JSON with a digest at the end. It goes into an empty store of either kind, in which
 * revisions go on from those of the old one, so that no client takes an old revision for a new one.
 */
import { createHash } from 'node:crypto'
import type { Clock } from '../src/base/clock.ts'
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

/** The lines of a bundle, each with its line feed. Rejects with Compacted when the store forgets the revision meanwhile: begin anew. */
export async function* backup(backend: Backend, about: { readonly program: string; readonly now: number }): AsyncGenerator<string, BundleTrailer> {
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
  const trailer = parse(held) as Partial<BundleTrailer>
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
 * Puts a bundle into an empty store. `open` gives its lines, twice: all of it is checked before anything is written. Revisions go on from those of the old store: where the
 * backend's are lower, an offset makes up for it, and the store is then to be opened with `openRevisions`. Until the end every resource is Importing, so that no program serves
 * half of it. Throws Refused for a store that is not empty.
 */
export async function restore(empty: Backend, open: () => AsyncIterable<string>, options: RestoreOptions): Promise<BundleTrailer> {
  const { header, trailer } = await checkBundle(open())
  await checkEmpty(empty)
  const backend = await beginStore(empty, header, options)
  const importing = new Map<string, LoadedFence>()
  const writing = new Set<Promise<unknown>>()
  let done = 0
  for await (const entry of readBundle(open())) {
    if (entry.key.startsWith(FENCES)) importing.set(entry.key.slice(FENCES.length), await beginImport(backend, entry))
    else {
      const one = importObject(backend, entry, importing).finally(() => writing.delete(one))
      // Met by the race or by the end.
      one.catch(() => {})
      writing.add(one)
      if (writing.size >= IN_FLIGHT) await Promise.race(writing)
    }
    options.onProgress?.(++done, trailer.count)
  }
  await Promise.all(writing)
  for (const [resource, fence] of importing) await commitNew(backend, endImport({ resource, fence }), FENCES + resource)
  return trailer
}

async function checkEmpty(backend: Backend): Promise<void> {
  const { count } = await backend.range({ ...EVERYTHING, countOnly: true })
  if (count > 0) throw new Refused('NotEmpty', `the store is not empty (${count} keys): restore into a new one, nothing was written`)
}

/** Writes the records of the store, on the condition that it is still empty; returns it at the revisions that it has from then on. */
async function beginStore(empty: Backend, header: BundleHeader, { program, clock, above = 0 }: RestoreOptions): Promise<Backend> {
  const floor = Math.max(header.revision, above) + MARGIN
  if (floor >= HIGHEST_REVISION) throw new Refused('RestoredSnapshot', `clients may have seen revision ${above}, and no store counts on from there: if the high-water mark is damaged, remove it`)
  const offset = Math.max(0, floor - (await empty.currentRevision()))
  const format = newStoreFormat(program, clock, offset > 0 ? STORE_FORMAT : PLAIN_FORMAT)
  const records: [key: string, record: object][] = [[FORMAT_KEY, format]]
  if (offset > 0) records.push([OFFSET_KEY, { offset, above: floor, from: header.store } satisfies RevisionOffset])
  const request: CommitRequest = {
    compare: [{ key: FORMAT_KEY, modRevision: 0 }, { ...EVERYTHING, modRevisionBelow: 1 }],
    put: records.map(([key, record]) => ({ key, value: Buffer.from(JSON.stringify(record)) })),
  }
  await commitNew(empty, request, FORMAT_KEY)
  return withOffset(empty, offset)
}

/** The fence as it was, without a job and its revisions, which mean nothing in another store. */
async function beginImport(backend: Backend, entry: BundleEntry): Promise<LoadedFence> {
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
  const compare = [{ key, modRevision: 0 }, { key: FENCES + resource, modRevision: fence.modRevision }]
  await commitNew(backend, { compare, put: [{ key, value: Buffer.from(value, 'base64') }] }, key)
}

async function commitNew(backend: Backend, request: CommitRequest, guard: string): Promise<void> {
  const result = await commitOnce(backend, request, guard)
  if (!result.succeeded) throw new Refused('NotEmpty', `somebody else writes to the store (${guard}): restore into one that nothing uses`)
}
