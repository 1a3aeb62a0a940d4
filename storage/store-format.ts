/** What a whole store says of itself: the layout of its keys and records, and which store it is. */
import type { Backend } from './backend.ts'
import { commitOnce } from './commit-once.ts'
import { Refused } from './refused.ts'
import type { Clock } from '../src/base/clock.ts'

/** The newest layout that this program reads: 1, and 2 for a store whose revisions have an offset (revision-offset.ts). */
export const STORE_FORMAT = 2
/** The layout of objects and fences, and of a store without an offset. */
export const PLAIN_FORMAT = 1

/** The record at `meta/format`. */
export interface StoreFormat {
  readonly format: number
  /** Programs that read this format or a newer one can use the store. */
  readonly minimumReader: number
  /** Program that made the store. */
  readonly createdBy: string
  readonly createdAt: string
  /** Of this store, and of no other. */
  readonly id: string
}

export const FORMAT_KEY = 'meta/format'

/** The record of a new store. */
export function newStoreFormat(program: string, clock: Clock, format: number): StoreFormat {
  return { format, minimumReader: format, createdBy: program, createdAt: new Date(clock.now()).toISOString(), id: clock.uuid() }
}

/** Reads the record, or makes it in a store that has none. Throws Refused for a store that needs a newer program. */
export async function openStoreFormat(backend: Backend, program: string, clock: Clock): Promise<StoreFormat> {
  const found = (await readStoreFormat(backend)) ?? (await create(backend, newStoreFormat(program, clock, PLAIN_FORMAT)))
  if (found.minimumReader > STORE_FORMAT) {
    throw new Refused(
      'NewerStore',
      `the store was written by a newer layout (format ${found.format}, made by ${found.createdBy}; it needs a program that reads format ${found.minimumReader}, ` +
        `${program} reads ${STORE_FORMAT}): run the newer release`,
    )
  }
  return found
}

/** The record; undefined in a store that has none. Throws Refused for one that cannot be read. */
export async function readStoreFormat(backend: Backend): Promise<StoreFormat | undefined> {
  const kv = await backend.get(FORMAT_KEY)
  if (!kv) return undefined
  try {
    const record = JSON.parse(Buffer.from(kv.value).toString()) as Partial<StoreFormat>
    if (Number.isSafeInteger(record.format) && Number.isSafeInteger(record.minimumReader) && typeof record.id === 'string') return record as StoreFormat
  } catch {
    // Answered below.
  }
  throw new Refused('NewerStore', `the record ${FORMAT_KEY} cannot be read: this is no store of this program, or one of a much newer release`)
}

async function create(backend: Backend, record: StoreFormat): Promise<StoreFormat> {
  const result = await commitOnce(backend, { compare: [{ key: FORMAT_KEY, modRevision: 0 }], put: [{ key: FORMAT_KEY, value: Buffer.from(JSON.stringify(record)) }] }, FORMAT_KEY)
  return result.succeeded ? record : ((await readStoreFormat(backend)) as StoreFormat)
}
