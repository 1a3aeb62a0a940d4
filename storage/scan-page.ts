/** Reading all of a prefix in pages that stay small whatever the objects weigh. */
import { prefixEnd } from './backend.ts'
import type { Backend, KeyValue } from './backend.ts'

// The writes of others wait while a page is read.
const PAGE_BYTES = 128 * 1024
const PAGE_KEYS = 200
const FIRST_PAGE_KEYS = 16

/** The limit of the next page, after the one that was read, so that it has about as many bytes as wanted (default: 128 KiB). */
export function nextPageLimit(page: readonly KeyValue[] | undefined, bytes = PAGE_BYTES): number {
  if (!page || page.length === 0) return FIRST_PAGE_KEYS
  const average = page.reduce((sum, kv) => sum + kv.value.length, 0) / page.length
  return Math.max(1, Math.min(PAGE_KEYS, Math.floor(bytes / Math.max(1, average))))
}

/** All keys of a prefix in their order, page by page: each page as of the moment when it is read, or all as of one revision (rejects with Compacted). */
export async function* readPages(backend: Backend, prefix: string, revision?: number): AsyncGenerator<readonly KeyValue[]> {
  const at = revision === undefined ? {} : { revision }
  for (let [start, limit, more] = [prefix, nextPageLimit(undefined), true]; more; ) {
    const page = await backend.range({ start, end: prefixEnd(prefix), limit, uncounted: true, ...at })
    yield page.kvs
    more = page.more
    start = `${page.kvs.at(-1)?.key}\0`
    limit = nextPageLimit(page.kvs)
  }
}
