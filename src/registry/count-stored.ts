/** How many objects are stored at which version, by their headers. */
import type { Backend } from '../../storage/backend.ts'
import { peekVersion } from '../../storage/envelope.ts'
import { readPages } from '../../storage/scan-page.ts'
import type { StoredCounts } from './storage-admin.ts'

/** Counts a resource's objects by reading them all. */
export async function countStored(backend: Backend, resource: string): Promise<StoredCounts> {
  const tally = openTally()
  for await (const page of readPages(backend, `data/${resource}/`)) for (const { value } of page) tally.add(value)
  return tally.counts()
}

/** Counts values that are at hand. */
export function countValues(values: Iterable<Uint8Array>): StoredCounts {
  const tally = openTally()
  for (const value of values) tally.add(value)
  return tally.counts()
}

function openTally(): { add(value: Uint8Array): void; counts(): StoredCounts } {
  const byVersion: Record<string, number> = {}
  let [objects, bytes] = [0, 0]
  return {
    add(value) {
      const version = versionOf(value)
      byVersion[version] = (byVersion[version] ?? 0) + 1
      objects++
      bytes += value.length
    },
    counts: () => ({ objects, bytes, byVersion }),
  }
}

function versionOf(value: Uint8Array): string {
  try {
    return peekVersion(value)
  } catch {
    return ''
  }
}
