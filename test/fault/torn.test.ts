/** What a power failure or a lying disk leaves of the write-ahead log: the store is what it was at some revision, whole, and says so when clients have seen more. */
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { systemClock } from '../../src/base/clock.ts'
import { silentLog } from '../../src/base/log.ts'
import type { Backend, WatchEvent } from '../../storage/backend.ts'
import { openReader, shownEvent } from '../../storage/backend.suite-fixture.ts'
import { openFence } from '../../storage/fence.ts'
import { markFile } from '../../storage/high-water-mark.ts'
import { openSqlite } from '../../storage/sqlite.ts'
import { startStore } from '../../storage/start.ts'
import { runProduct, temporaryDirectory } from '../product.ts'

const COMMITS = 30
const KEYS = 7
/** Of SQLite's format: of the log and of each page in it. */
const [LOG_HEADER_BYTES, FRAME_HEADER_BYTES] = [32, 24]
const RANGE = { start: 'data/things.example/', end: 'data/things.example0' }

interface Image {
  readonly database: Buffer
  readonly log: Buffer
  /** Bytes of the log before the commits. */
  readonly begun: number
  readonly store: string
  /** Of the store before the commits. */
  readonly first: number
  readonly events: readonly WatchEvent[]
}

const open = (data: string): Promise<Backend> => openSqlite({ directory: join(data, 'store'), clock: systemClock, log: silentLog })

async function readEvents(backend: Backend, after: number): Promise<WatchEvent[]> {
  const reader = openReader(backend, { ...RANGE, after })
  const events = [...(await reader.until(await backend.currentRevision()))]
  await reader.leave()
  return events
}

/** The files of a store at a moment at which its commits are in the log, as a power failure leaves them. */
async function makeImage(data: string): Promise<Image> {
  await using backend = await open(data)
  const program = { name: 'mlops-apiserver', replica: 'torn', clock: systemClock, log: silentLog }
  await using started = await startStore(backend, program)
  await openFence(backend, 'things.example', { encodingVersion: 'v1', decodable: ['v1'] })
  const first = await backend.currentRevision()
  const begun = statSync(join(data, 'store', 'store.db-wal')).size
  for (let i = 0; i < COMMITS; i++) {
    const key = `${RANGE.start}${i % KEYS}`
    const value = Buffer.alloc(500 + i * 100, `${i}`)
    await backend.commit({ compare: [], ...(i % 9 === 8 ? { delete: [key] } : { put: [{ key, value }] }) })
  }
  const events = await readEvents(backend, first)
  const files = ['store.db', 'store.db-wal'].map((name) => readFileSync(join(data, 'store', name))) as [Buffer, Buffer]
  return { database: files[0], log: files[1], begun, store: started.format.id, first, events }
}

/** Puts an image, with another log, into a data directory of its own. */
function lay({ database }: Image, log: Uint8Array, data: string): void {
  mkdirSync(join(data, 'store'), { recursive: true, mode: 0o700 })
  writeFileSync(join(data, 'store', 'store.db'), database, { mode: 0o600 })
  writeFileSync(join(data, 'store', 'store.db-wal'), log, { mode: 0o600 })
}

/** Opens what is there; holds that it is the image at one of its revisions, and takes writes. Returns that revision. */
async function checkPrefix(image: Image, data: string, what: string): Promise<number> {
  await using backend = await open(data)
  const revision = await backend.currentRevision()
  const expected = image.events.filter((event) => event.revision <= revision)
  assert.deepEqual((await readEvents(backend, image.first)).map(shownEvent), expected.map(shownEvent), what)
  const alive = new Map<string, Uint8Array>()
  for (const { key, value } of expected) {
    if (value) alive.set(key, value)
    else alive.delete(key)
  }
  const { kvs } = await backend.range(RANGE)
  assert.deepEqual(kvs.map(({ key, value }) => [key, Buffer.compare(value, alive.get(key)!)]), [...alive.keys()].toSorted().map((key) => [key, 0]), what)
  const result = await backend.commit({ compare: [{ key: `${RANGE.start}new`, modRevision: 0 }], put: [{ key: `${RANGE.start}new`, value: Buffer.from('1') }] })
  assert.ok(result.succeeded && result.revision > revision, what)
  return revision
}

test('a log that ends within a page, between two, or has a flipped bit leaves a whole revision; nothing before the damage is lost', async () => {
  using directory = temporaryDirectory('torn-')
  const image = await makeImage(join(directory.path, 'whole'))
  const pageBytes = image.log.readUInt32BE(8)
  const frameBytes = FRAME_HEADER_BYTES + pageBytes
  const [before, frames] = [image.begun, image.log.length].map((bytes) => Math.floor((bytes - LOG_HEADER_BYTES) / frameBytes)) as [number, number]
  assert.ok(frames - before > COMMITS, `${frames - before} pages in the log`)
  const damages: { at: number; what: string; log: Buffer }[] = []
  for (let frame = frames; frame >= before; frame -= Math.ceil((frames - before) / 8)) {
    const at = LOG_HEADER_BYTES + frame * frameBytes
    for (const length of [at, at + 10, at + FRAME_HEADER_BYTES + pageBytes / 2].filter((bytes) => bytes <= image.log.length)) damages.push({ at, what: `cut at ${length}`, log: image.log.subarray(0, length) })
    if (frame === frames) continue
    const flipped = Buffer.from(image.log)
    flipped[at + FRAME_HEADER_BYTES + 100]! ^= 4
    damages.push({ at, what: `flipped in page ${frame}`, log: flipped })
  }
  // What was being written at the moment: the half of a page after the last.
  damages.push({ at: image.log.length, what: 'half a page more', log: Buffer.concat([image.log, image.log.subarray(LOG_HEADER_BYTES, LOG_HEADER_BYTES + frameBytes / 2)]) })
  const revisions: { at: number; revision: number }[] = []
  for (const [i, { at, what, log }] of damages.entries()) {
    const data = join(directory.path, `${i}`)
    lay(image, log, data)
    revisions.push({ at, revision: await checkPrefix(image, data, what) })
  }
  const last = image.events.at(-1)!.revision
  assert.equal(revisions.at(-1)!.revision, last, 'a torn write after the last commit takes nothing away')
  const sorted = revisions.toSorted((a, b) => a.at - b.at).map(({ revision }) => revision)
  assert.deepEqual(sorted, sorted.toSorted((a, b) => a - b), 'the later the damage, the more is there')
  assert.ok(new Set(sorted).size > 5, `only ${new Set(sorted).size} revisions`)
})

test('a store that has lost what clients may have seen is refused with exit code 11, and the remedy that this names works', async () => {
  using directory = temporaryDirectory('torn-')
  const image = await makeImage(join(directory.path, 'whole'))
  const data = join(directory.path, 'cut')
  lay(image, image.log.subarray(0, Math.floor(image.log.length / 2)), data)
  await markFile(join(data, 'high-water-mark.json')).write({ store: image.store, revision: image.events.at(-1)!.revision })
  const { code, stderr } = await runProduct(['serve', '--data-dir', data, '--port', '0'])
  assert.equal(code, 11, stderr)
  assert.match(stderr, /^mlops-apiserver: the store is at revision \d+, and clients may have seen \d+ \(\S+high-water-mark\.json\): it is an older copy of itself\. /)
  const bundle = join(directory.path, 'bundle')
  for (const [command, place] of [['backup', data], ['restore', join(directory.path, 'new')]] as const) {
    const done = await runProduct(['storage', command, bundle, '--data-dir', place])
    assert.equal(done.code, 0, done.stderr)
  }
})
