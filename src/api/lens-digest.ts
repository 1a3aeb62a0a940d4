/** A digest of a JSON value, by which a kept part finds out whether what it belongs to is still the same. */
import { Float, type Json } from './object.ts'

/**
 * 64 bits as 16 hex digits; equal for values that deepEqual calls equal. It guards against change, not against
 * forgery: whoever writes a remainder can write the digest too.
 */
export function digest(value: Json): string {
  const hash = new Fnv()
  feed(hash, value)
  return hash.text()
}

// FNV-1a with 64 bits over UTF-16 code units, in two halves, since BigInt is many times slower.
class Fnv {
  #high = 0xcbf29ce4
  #low = 0x84222325

  add(text: string): void {
    let high = this.#high
    let low = this.#low
    for (let i = 0; i < text.length; i++) {
      low = (low ^ text.charCodeAt(i)) >>> 0
      // times the prime 2^40 + 0x1b3
      const product = low * 0x1b3
      high = (Math.imul(high, 0x1b3) + Math.floor(product / 0x100000000) + (low << 8)) >>> 0
      low = product >>> 0
    }
    this.#high = high
    this.#low = low
  }

  text(): string {
    return this.#high.toString(16).padStart(8, '0') + this.#low.toString(16).padStart(8, '0')
  }
}

// Each kind begins with a mark of its own and texts with their length, so that different values give different input;
// but 1 and 1.0 are the same, since both are stored as 1. Without recursion, since values may nest as deep as the parser takes them.
function feed(hash: Fnv, root: Json): void {
  // Values still to be fed, the next one last; a member brings its key.
  const pending: { readonly key?: string; readonly value: Json }[] = [{ value: root }]
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { key, value } = next
    if (key !== undefined) hash.add(`s${key.length}:${key}`)
    if (typeof value === 'string') hash.add(`s${value.length}:${value}`)
    else if (value === null || typeof value !== 'object') hash.add(`v${String(value)};`)
    else if (value instanceof Float) hash.add(`v${value.value};`)
    else if (Array.isArray(value)) {
      hash.add(`a${value.length}:`)
      for (let i = value.length - 1; i >= 0; i--) pending.push({ value: value[i] as Json })
    } else {
      const keys = Object.keys(value).filter((name) => value[name] !== undefined).toSorted()
      hash.add(`o${keys.length}:`)
      for (const name of keys.toReversed()) pending.push({ key: name, value: value[name] as Json })
    }
  }
}
