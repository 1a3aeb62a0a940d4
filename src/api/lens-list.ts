/** The operation `each`: lists whose items differ between two versions. */
import { deepEqual, getKey, isObject, type Json, type JsonObject } from './object.ts'
import { digest } from './lens-digest.ts'
import type { Each } from './lens.ts'
import { parsePath, readPath, writePath, type Path } from './lens-path.ts'
import type { Step } from './lens-step.ts'

/** Compiles `each` with the steps for an item. */
export function eachStep(operation: Each, steps: readonly Step[]): Step {
  const olderPath = parsePath(operation.older)
  const newerPath = parsePath(operation.newer)
  const olderKey = parsePath(operation.key.older)
  const item = new Item(steps, olderKey, steps.every((step) => step.lossless))
  return {
    lossless: item.lossless,
    get(from, to) {
      const list = readPath(from, newerPath)
      if (list === undefined) return
      writePath(to, olderPath, Array.isArray(list) ? list.map((value) => item.get(value)) : list)
    },
    put(from, to, kept) {
      const list = readPath(from, olderPath)
      if (list === undefined) return
      const rest = kept === undefined || item.lossless ? undefined : readPath(kept, newerPath)
      writePath(to, newerPath, Array.isArray(list) ? putItems(list, item, rest) : list)
    },
    cut(from, kept) {
      const list = readPath(from, newerPath)
      if (!Array.isArray(list)) return
      const entries = cutItems(list, item)
      if (entries.length > 0) writePath(kept, newerPath, entries)
    },
  }
}

class Item {
  readonly steps: readonly Step[]
  readonly olderKey: Path
  readonly lossless: boolean
  constructor(steps: readonly Step[], olderKey: Path, lossless: boolean) {
    this.steps = steps
    this.olderKey = olderKey
    this.lossless = lossless
  }

  get(value: Json): Json {
    if (!isObject(value)) return value
    const shown: JsonObject = {}
    for (const step of this.steps) step.get(value, shown)
    return shown
  }

  put(value: Json, kept?: JsonObject): Json {
    if (!isObject(value)) return value
    const made: JsonObject = {}
    for (const step of this.steps) step.put(value, made, kept)
    return made
  }

  cut(value: Json): JsonObject | undefined {
    if (!isObject(value)) return undefined
    const kept: JsonObject = {}
    for (const step of this.steps) step.cut(value, kept)
    return Object.keys(kept).length > 0 ? kept : undefined
  }

  key(shown: Json): Json | undefined {
    return isObject(shown) ? readPath(shown, this.olderKey) : undefined
  }
}

// Counts items with the same key, so that the second is told from the first.
class Places {
  readonly #seen = new Map<string, number>()
  next(key: Json | undefined): number {
    const name = nameOf(key, 0)
    const place = this.#seen.get(name) ?? 0
    this.#seen.set(name, place + 1)
    return place
  }
}

function nameOf(key: Json | undefined, place: Json): string {
  return `${String(place)}:${typeof key}:${String(key)}`
}

// An entry of the remainder: {key (when it has one), place (when not 0), digest, kept}; only for items of which something is hidden.
function cutItems(list: readonly Json[], item: Item): JsonObject[] {
  const places = new Places()
  const entries: JsonObject[] = []
  for (const value of list) {
    const shown = item.get(value)
    const key = item.key(shown)
    const place = places.next(key)
    const kept = item.cut(value)
    if (kept === undefined) continue
    entries.push({ ...(key !== undefined && { key }), ...(place > 0 && { place }), digest: digest(shown), kept })
  }
  return entries
}

function putItems(list: readonly Json[], item: Item, rest: Json | undefined): Json[] {
  const entries = indexEntries(rest)
  if (entries.size === 0) return list.map((value) => item.put(value))
  const places = new Places()
  return list.map((value) => {
    const key = item.key(value)
    const entry = entries.get(nameOf(key, places.next(key)))
    if (entry === undefined || getKey(entry, 'digest') !== digest(value)) return item.put(value)
    const made = item.put(value, getKey(entry, 'kept') as JsonObject)
    // A remainder that would change what is shown is no remainder of this item.
    return deepEqual(item.get(made), value) ? made : item.put(value)
  })
}

function indexEntries(rest: Json | undefined): Map<string, JsonObject> {
  const entries = new Map<string, JsonObject>()
  if (!Array.isArray(rest)) return entries
  for (const entry of rest) {
    if (!isObject(entry) || !isObject(getKey(entry, 'kept'))) continue
    entries.set(nameOf(getKey(entry, 'key'), getKey(entry, 'place') ?? 0), entry)
  }
  return entries
}
