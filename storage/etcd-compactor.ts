/**
 * Compaction by age, by one replica at a time. Whoever changes the compaction key compacts at the revision that the key held, which is
 * at least one interval old; the others see that the key has changed and wait another interval
 * (upstream: k8s.io/apiserver/pkg/storage/etcd3/compact.go).
 */
import type { Clock, Timer } from '../src/base/clock.ts'
import type { Log } from '../src/base/log.ts'
import { OutOfSpace } from './backend.ts'
import { putOwnKey } from './etcd-commits.ts'
import type { CommitOptions } from './etcd-commits.ts'
import { toRevision } from './etcd-keyspace.ts'
import type { Keyspace } from './etcd-keyspace.ts'
import type { EtcdTransport } from './etcd-transport.ts'

/** What the compaction key holds. `modRevision` 0: there is none. */
export interface CompactionMark {
  readonly modRevision: number
  readonly revision: number
}

/** The compaction key in the store. */
export interface CompactionKey {
  read(): Promise<CompactionMark>
  /** Puts a new mark if the key is still as it was; otherwise tells what it holds now. */
  replace(seen: CompactionMark, revision: number): Promise<{ readonly won: boolean; readonly mark: CompactionMark }>
}

export interface EtcdCompactorOptions {
  readonly clock: Clock
  readonly log: Log
  /** History is kept for this long, and up to twice as long. */
  readonly intervalMs: number
  readonly key: CompactionKey
  /** The store's current revision. */
  readonly revision: () => Promise<number>
  readonly compact: (revision: number) => Promise<void>
}

/** Starts compacting; the answer stops it. */
export function startEtcdCompactor({ clock, log, intervalMs, key, revision, compact }: EtcdCompactorOptions): { stop(): void } {
  let seen: CompactionMark | undefined
  let timer: Timer
  let stopped = false

  const tick = async (): Promise<void> => {
    if (!seen) {
      seen = await key.read()
      return
    }
    const due = seen.revision
    try {
      const { won, mark } = await key.replace(seen, await revision())
      seen = mark
      if (!won) return
    } catch (err) {
      // A full database takes no mark, and compaction is part of the way out. That another replica may do the same does no harm.
      if (!(err instanceof OutOfSpace)) throw err
    }
    if (due > 1) await compact(due)
  }
  const schedule = (ms: number): void => {
    timer = clock.schedule(ms, () => {
      void tick()
        .catch((err: unknown) => {
          if (stopped) return
          // Somebody else may have changed the key meanwhile: begin anew.
          seen = undefined
          log.warn('compaction of etcd has failed', { err })
        })
        .finally(() => !stopped && schedule(intervalMs))
    })
  }
  schedule(0)
  return {
    stop() {
      stopped = true
      timer.cancel()
    },
  }
}

/** The compaction key of a store in etcd. */
export function openCompactionKey(commits: CommitOptions, transport: Pick<EtcdTransport, 'range'>, { compactionKey: key }: Keyspace): CompactionKey {
  return {
    async read() {
      const kv = (await transport.range({ key })).kvs[0]
      return kv ? { modRevision: toRevision(kv.mod_revision), revision: toRevision(kv.value.toString()) } : { modRevision: 0, revision: 0 }
    },
    async replace(seen, revision) {
      const { won, modRevision, value } = await putOwnKey(commits, key, String(revision), seen.modRevision)
      return { won, mark: { modRevision, revision: toRevision(value) } }
    },
  }
}
