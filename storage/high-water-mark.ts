/**
 * The highest revision that clients may have seen, kept outside of the store: a store that is below it is an older copy of itself, and clients that
 * hold newer revisions would silently miss changes.
 */
import { readFile, rename, open } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Backend } from './backend.ts'
import { Refused } from './refused.ts'
import type { Clock } from '../src/base/clock.ts'
import type { Log } from '../src/base/log.ts'

export interface Mark {
  /** Of the store that it was taken from. */
  readonly store: string
  readonly revision: number
}

/** Where a mark is kept: outside of the store and of its backups. */
export interface MarkPlace {
  /** For messages. */
  readonly name: string
  /** The mark; undefined when there is none. */
  read(): Promise<Mark | undefined>
  write(mark: Mark): Promise<void>
}

const EVERY_MS = 10_000

/** A mark in a file, replaced as a whole. */
export function markFile(path: string): MarkPlace {
  return {
    name: path,
    async read() {
      const text = await readFile(path, 'utf8').catch((error: unknown) => {
        if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
        throw error
      })
      if (text === undefined) return undefined
      try {
        const mark = JSON.parse(text) as Partial<Mark>
        if (typeof mark.store === 'string' && Number.isSafeInteger(mark.revision)) return mark as Mark
      } catch {
        // Answered below.
      }
      throw new Refused('RestoredSnapshot', `${path} is damaged, so nobody can tell whether the store is an older copy: remove it when you know that it is not`)
    },
    async write(mark) {
      const draft = `${path}.new`
      const file = await open(draft, 'w', 0o600)
      try {
        await file.writeFile(`${JSON.stringify(mark)}\n`)
        await file.sync()
      } finally {
        await file.close()
      }
      await rename(draft, path)
      const directory = await open(dirname(path), 'r')
      await directory.sync().finally(() => directory.close())
    },
  }
}

/** Throws Refused when the store is below its mark. */
export async function checkMark(backend: Backend, place: MarkPlace, store: string): Promise<void> {
  const mark = await place.read()
  if (!mark) return
  const revision = await backend.currentRevision()
  if (revision >= mark.revision) return
  const which = mark.store === store ? 'an older copy of itself' : 'another one than before'
  throw new Refused(
    'RestoredSnapshot',
    `the store is at revision ${revision}, and clients may have seen ${mark.revision} (${place.name}): it is ${which}. ` +
      'Take a bundle of it with `storage backup` and `storage restore` that into an empty store, which goes on above that revision',
  )
}

/** Keeps the mark until it is closed; the last one is written then. */
export interface MarkKeeper extends AsyncDisposable {
  close(): Promise<void>
}

/** Writes the mark now and whenever the revision has risen, each ten seconds at most. */
export async function keepMark(backend: Backend, place: MarkPlace, store: string, { clock, log }: { readonly clock: Clock; readonly log: Log }): Promise<MarkKeeper> {
  let written = 0
  let closed = false
  const write = async (): Promise<void> => {
    const revision = await backend.currentRevision()
    if (revision <= written) return
    await place.write({ store, revision })
    written = revision
  }
  await write()
  let timer = clock.schedule(EVERY_MS, tick)
  let last = Promise.resolve()
  function tick(): void {
    last = write()
      .catch((err: unknown) => log.warn('the high-water mark could not be written', { err, file: place.name }))
      .finally(() => {
        if (!closed) timer = clock.schedule(EVERY_MS, tick)
      })
  }
  const close = async (): Promise<void> => {
    if (closed) return
    closed = true
    timer.cancel()
    await last
    await write()
  }
  return { close, [Symbol.asyncDispose]: close }
}
