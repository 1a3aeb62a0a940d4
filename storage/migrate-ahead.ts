/** Values written anew before their turn comes, while the store is at work: one in each turn of the event loop, so that the requests of others come between. */
import type { KeyValue } from './backend.ts'
import { reencode } from './object-codec.ts'
import type { ObjectCodec, Reencoded } from './object-codec.ts'

/** See `openAhead`. */
export interface Ahead {
  /** This value will be wanted soon. */
  prepare(kv: KeyValue): void
  /** The value written anew (as `reencode` does): made already, or now. Nothing is kept of it. */
  take(kv: KeyValue): Reencoded
}

/** For the objects of one migration, all written anew at one version. */
export function openAhead(codec: ObjectCodec, version: string): Ahead {
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
    made.set(kv, reencode(codec, kv.value, version))
    schedule()
  }
  return {
    prepare(kv) {
      wanted.add(kv)
      schedule()
    },
    take(kv) {
      const found = made.get(kv) ?? reencode(codec, kv.value, version)
      made.delete(kv)
      wanted.delete(kv)
      return found
    },
  }
}
