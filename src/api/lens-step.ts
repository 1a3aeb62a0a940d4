/**
 * A compiled operation. Steps share values and write only into the objects that they are given; what is no object
 * where one should be passes through as it is, since conversion never validates.
 */
import { getKey, isObject, setKey, type JsonObject } from './object.ts'
import { openPath, parsePath, readObject, readPath, writePath } from './lens-path.ts'

export interface Step {
  /** True when `get` shows all there is, so that nothing is ever cut. */
  readonly lossless: boolean
  /** Writes into the older object what it shows of the newer one. */
  get(newer: JsonObject, older: JsonObject): void
  /** Writes into the newer object what the older one says, completed by what was cut, if anything. `kept` is hostile input. */
  put(older: JsonObject, newer: JsonObject, kept: JsonObject | undefined): void
  /** Writes into `kept`, at the newer path, what `get` does not show. */
  cut(newer: JsonObject, kept: JsonObject): void
}

/** A value at a path on either side, taken whole. An object that only its fields call for is made for them. */
export function leafStep(older: string, newer: string): Step {
  const olderPath = parsePath(older)
  const newerPath = parsePath(newer)
  return {
    lossless: true,
    get(from, to) {
      const value = readPath(from, newerPath)
      if (value !== undefined) writePath(to, olderPath, value)
    },
    put(from, to) {
      const value = readPath(from, olderPath)
      if (value !== undefined) writePath(to, newerPath, value)
    },
    cut() {},
  }
}

/** A field that only the newer side has. */
export function newerStep(field: string): Step {
  const path = parsePath(field)
  return {
    lossless: false,
    get() {},
    put(_, to, kept) {
      const value = kept === undefined ? undefined : readPath(kept, path)
      if (value !== undefined) writePath(to, path, value)
    },
    cut(from, kept) {
      const value = readPath(from, path)
      if (value !== undefined) writePath(kept, path, value)
    },
  }
}

// Where a remainder says of an object that it was there: no path of a lens has a name that is empty.
const ITSELF = ''

/** An object of the newer side that shows only in its fields, and may have none or be null: that it is there is kept. */
export function unshownStep(newer: string): Step {
  const path = parsePath(newer)
  const mark = [...path, ITSELF]
  return {
    lossless: false,
    get() {},
    put(_, to, kept) {
      const value = kept === undefined ? undefined : readPath(kept, mark)
      if (value === undefined) return
      if (isObject(value)) openPath(to, path)
      else if (readPath(to, path) === undefined) writePath(to, path, value)
    },
    cut(from, kept) {
      const value = readPath(from, path)
      if (value === undefined) return
      if (!isObject(value)) writePath(kept, mark, value)
      else if (!Object.values(value).some((member) => member !== undefined)) writePath(kept, mark, {})
    },
  }
}

/** An object on both sides with steps for its fields; it is there on one side when it is on the other. */
export function objectStep(older: string, newer: string, steps: readonly Step[]): Step {
  const olderPath = parsePath(older)
  const newerPath = parsePath(newer)
  return {
    lossless: steps.every((step) => step.lossless),
    get(from, to) {
      const value = readPath(from, newerPath)
      if (value === undefined) return
      if (!isObject(value)) return writePath(to, olderPath, value)
      const shown = openPath(to, olderPath)
      if (shown !== undefined) for (const step of steps) step.get(value, shown)
    },
    put(from, to, kept) {
      const value = readPath(from, olderPath)
      if (value === undefined) return
      if (!isObject(value)) return writePath(to, newerPath, value)
      const made = openPath(to, newerPath)
      const rest = readObject(kept, newerPath)
      if (made !== undefined) for (const step of steps) step.put(value, made, rest)
    },
    cut(from, kept) {
      const value = readObject(from, newerPath)
      if (value !== undefined) cutInto(value, kept, newerPath, steps)
    },
  }
}

/** Cuts an object and writes what was cut at a path, beside what other steps wrote there; nothing when nothing was cut. */
export function cutInto(from: JsonObject, kept: JsonObject, path: readonly string[], steps: readonly Step[]): void {
  const rest: JsonObject = {}
  for (const step of steps) if (!step.lossless) step.cut(from, rest)
  if (Object.keys(rest).length > 0) blend(rest, openPath(kept, path) ?? {})
}

// Two operations may reach into the same inner object.
function blend(from: JsonObject, into: JsonObject): void {
  for (const [name, value] of Object.entries(from)) {
    const there = getKey(into, name)
    if (isObject(value) && isObject(there)) blend(value, there)
    else if (value !== undefined) setKey(into, name, value)
  }
}
