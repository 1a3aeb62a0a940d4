/**
 * The record at `meta/rv` of a store that was restored: how much its revisions are above those of its backend. A store without it counts as its backend does.
 */
import type { Backend } from './backend.ts'
import { withOffset } from './offset-backend.ts'
import { Refused } from './refused.ts'

/** The record. */
export interface RevisionOffset {
  readonly offset: number
  /** Every revision of the store is above this one: it was the last that clients of the old store can have seen, with a margin. */
  readonly above: number
  /** Of the store that the bundle was taken from. */
  readonly from: string
}

export const OFFSET_KEY = 'meta/rv'

/** The store in a backend, at the revisions that clients know. Throws Refused when the record cannot be read. */
export async function openRevisions(backend: Backend): Promise<Backend> {
  return withOffset(backend, (await readOffset(backend))?.record.offset ?? 0)
}

/**
 * Throws Refused when a store is used without its offset: its record was written after it was opened, by a restore that began at the same moment.
 * Revisions would go back for clients.
 */
export async function checkRevisions(backend: Backend): Promise<void> {
  const found = await readOffset(backend)
  if (found && found.modRevision <= found.record.above) {
    throw new Refused('IncompleteRestore', 'a restore into this store has begun while it was opened: wait for its end, and start again')
  }
}

async function readOffset(backend: Backend): Promise<{ readonly record: RevisionOffset; readonly modRevision: number } | undefined> {
  const kv = await backend.get(OFFSET_KEY)
  if (!kv) return undefined
  try {
    const { offset = 0, above = 0, from = '' } = JSON.parse(Buffer.from(kv.value).toString()) as Partial<RevisionOffset>
    // Before there were offsets, `above` alone told what the record's own writes had passed.
    if ([offset, above].every((revision) => Number.isSafeInteger(revision) && revision >= 0) && typeof from === 'string') return { record: { offset, above, from }, modRevision: kv.modRevision }
  } catch {
    // Answered below.
  }
  throw new Refused('NewerStore', `the record ${OFFSET_KEY} cannot be read: without it the revisions of the store would go back. Put it back from a snapshot, or restore a backup into an empty store`)
}
