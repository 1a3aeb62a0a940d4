/** How many keys to read at once, so that a page stays small whatever the objects weigh. */
import type { KeyValue } from './backend.ts'

const PAGE_BYTES = 1024 * 1024
const PAGE_KEYS = 200
const FIRST_PAGE_KEYS = 50

/** The limit of the next page, after the one that was read. */
export function nextPageLimit(page: readonly KeyValue[] | undefined): number {
  if (!page || page.length === 0) return FIRST_PAGE_KEYS
  const average = page.reduce((sum, kv) => sum + kv.value.length, 0) / page.length
  return Math.max(1, Math.min(PAGE_KEYS, Math.floor(PAGE_BYTES / Math.max(1, average))))
}
