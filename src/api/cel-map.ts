/** Maps that rules make. A key may be any value; numbers of any type find each other. upstream: cel-go common/types/map.go refValMap */
import { isCelUint } from '@bufbuild/cel'
import { ITEM, meter } from './cel-meter.ts'
import { kindOf, type Value } from './cel-function.ts'

// The mark by which the library knows its maps.
const MAP = Symbol.for('@bufbuild/cel/map')

/** A map of pairs; of two with the same key the later one counts. */
export class LiteralMap {
  readonly #pairs = new Map<unknown, readonly [Value, Value]>()

  constructor(pairs: readonly (readonly [Value, Value])[]) {
    meter.charge(pairs.length * ITEM)
    for (const pair of pairs) this.#pairs.set(identity(pair[0]), pair)
  }
  get [MAP](): true {
    return true
  }
  get size(): number {
    return this.#pairs.size
  }
  get(key: unknown): Value | undefined {
    const [, value] = this.#pairs.get(identity(key as Value)) ?? this.#byNumber(key as Value) ?? []
    return value
  }
  #byNumber(key: Value): readonly [Value, Value] | undefined {
    const number = isCelUint(key) ? key.value : key
    if (typeof number !== 'bigint' && !Number.isInteger(number)) return undefined
    return this.#pairs.get(`int ${BigInt(number as bigint | number)}`) ?? this.#pairs.get(`uint ${BigInt(number as bigint | number)}`)
  }
  has(key: unknown): boolean {
    return this.get(key) !== undefined
  }
  *keys(): IterableIterator<Value> {
    meter.charge(this.size * ITEM)
    for (const [key] of this.#pairs.values()) yield key
  }
  *values(): IterableIterator<Value> {
    for (const [, value] of this.entries()) yield value
  }
  *entries(): IterableIterator<readonly [Value, Value]> {
    meter.charge(this.size * ITEM)
    yield* this.#pairs.values()
  }
  [Symbol.iterator](): IterableIterator<readonly [Value, Value]> {
    return this.entries()
  }
  forEach(callback: (value: Value, key: Value) => void): void {
    for (const [key, value] of this.entries()) callback(value, key)
  }
}

// What is no scalar is only found as the very same value.
function identity(key: Value): unknown {
  const kind = kindOf(key)
  if (kind === 'uint') return `uint ${(key as { value: bigint }).value}`
  return typeof key === 'object' && key !== null ? key : `${kind} ${String(key)}`
}
