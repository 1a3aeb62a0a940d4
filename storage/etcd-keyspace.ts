/** The keys of one store inside of an etcd that others may use too: a prefix that callers never see, and revisions as numbers. */
import { BackendError } from './backend.ts'

/**
 * A byte that no UTF-8 text has, so that no caller's key or range can reach the store's own keys, while a watch of the whole prefix
 * still sees them.
 */
const OWN = 0xff

export interface ByteRange {
  readonly key: Buffer
  readonly range_end: Buffer
}

export interface Keyspace {
  toKey(key: string): Buffer
  /** The caller's key; undefined for one of the store's own. */
  fromKey(key: Buffer): string | undefined
  toRange(range: { readonly start: string; readonly end: string }): ByteRange
  /** Everything, the store's own keys too. */
  readonly all: ByteRange
  /** Written when somebody needs to know that a watch has seen everything so far; it holds nothing. */
  readonly progressKey: Buffer
  /** By its modRevision the replicas agree on which one compacts; it holds the revision to compact at next time. */
  readonly compactionKey: Buffer
}

/** The keys under a prefix, which gets a slash at its end when it has none. */
export function openKeyspace(prefix: string): Keyspace {
  if (prefix === '' || !prefix.isWellFormed()) throw new TypeError(`invalid key prefix ${JSON.stringify(prefix)}`)
  const root = Buffer.from(prefix.endsWith('/') ? prefix : `${prefix}/`)
  const toKey = (key: string): Buffer => Buffer.concat([root, Buffer.from(key)])
  const own = (name: string): Buffer => Buffer.concat([root, Buffer.of(OWN), Buffer.from(name)])
  const end = Buffer.from(root)
  end[end.length - 1]! += 1
  return {
    toKey,
    fromKey: (key) => (key[root.length] === OWN ? undefined : key.toString('utf8', root.length)),
    toRange: (range) => ({ key: toKey(range.start), range_end: toKey(range.end) }),
    all: { key: root, range_end: end },
    progressKey: own('progress'),
    compactionKey: own('compaction'),
  }
}

/** The number of an int64 that etcd sends as text. Throws BackendError when a number cannot hold it. */
export function toRevision(text: string): number {
  const revision = Number(text)
  if (!Number.isSafeInteger(revision)) throw new BackendError(`etcd's revision ${text} is too large`)
  return revision
}
