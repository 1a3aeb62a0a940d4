/** Values written anew before their turn comes, while the store is at work: one in each turn of the event loop, so that the requests of others come between. */
import type { KeyValue } from './backend.ts'
import type { Reencoded } from './object-codec.ts'

/** See `openAhead`. */
export interface Ahead {
  /** This value will be wanted soon. */
  prepare(kv: KeyValue): void
  /** The value written anew: made already, or now. Nothing is kept of it. */
  take(kv: KeyValue): Reencoded
}

/** For the objects of one migration, which `rewrite` writes anew. */
export function openAhead(rewrite: (value: Uint8Array) => Reencoded): Ahead {
  const wanted = new Set<KeyValue>()
  const made = new Map<KeyValue, Reencoded>()
  let due = false
  const schedule = (): void => {
    if (due || wanted.size === 0) return
    due = true
    setImmediate(makeOne)
  }
  const makeOne = (): void => {
    due = false
    const [kv] = wanted
    if (!kv) return
    wanted.delete(kv)
    made.set(kv, rewrite(kv.value))
    schedule()
  }
  return {
    prepare(kv) {
      wanted.add(kv)
      schedule()
    },
    take(kv) {
      const found = made.get(kv) ?? rewrite(kv.value)
      made.delete(kv)
      wanted.delete(kv)
      return found
    },
  }
}
