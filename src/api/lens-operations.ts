/** The operations that are more than a change of place: pick, verdict, inherit. */
import { deepEqual, Float, getKey, isInteger, isObject, setKey, type Json, type JsonObject } from './object.ts'
import type { Inherit, Pick, Verdict } from './lens.ts'
import { openPath, parsePath, readObject, readPath, writePath, type Path } from './lens-path.ts'
import { cutInto, type Step } from './lens-step.ts'

/** Compiles `pick`. `defaults` are those of the older version's fields. */
export function pickStep(operation: Pick, defaults: { readonly [key: string]: Json | undefined }): Step {
  const path = parsePath(operation.field)
  const { keys } = operation
  return {
    lossless: false,
    get(from, to) {
      const map = readPath(from, path)
      if (map === undefined) return
      if (!isObject(map)) return writePath(to, path, map)
      const shown: JsonObject = {}
      for (const key of keys) {
        const value = textOf(getKey(map, key)) ?? defaults[key]
        if (value !== undefined) shown[key] = value
      }
      writePath(to, path, shown)
    },
    put(from, to, kept) {
      const fields = readPath(from, path)
      if (fields === undefined) return
      writePath(to, path, isObject(fields) ? putPicked(fields, keys, defaults, readObject(kept, path)) : fields)
    },
    cut(from, kept) {
      const map = readObject(from, path)
      const rest = map === undefined ? undefined : cutPicked(map, keys)
      if (rest !== undefined) writePath(kept, path, rest)
    },
  }
}

function putPicked(fields: JsonObject, keys: readonly string[], defaults: { readonly [key: string]: Json | undefined }, rest: JsonObject | undefined): JsonObject {
  const map: JsonObject = {}
  const absent = rest === undefined ? undefined : getKey(rest, 'absent')
  const values = rest === undefined ? undefined : readObject(rest, ['values'])
  for (const key of keys) {
    const value = getKey(fields, key)
    const original = values === undefined ? undefined : getKey(values, key)
    // Null is shown as what is absent.
    if (original === null && deepEqual(value, defaults[key])) {
      map[key] = null
      continue
    }
    if (value === undefined) continue
    if (Array.isArray(absent) && absent.includes(key) && deepEqual(value, defaults[key])) continue
    map[key] = original !== undefined && textOf(original) === value ? original : value
  }
  const others = rest === undefined ? undefined : readObject(rest, ['keys'])
  for (const [key, value] of Object.entries(others ?? {})) {
    if (!keys.includes(key) && value !== undefined) setKey(map, key, value)
  }
  return map
}

// What is hidden of a map: {keys: the others, absent: picked ones without a value, values: those that are no text}.
function cutPicked(map: JsonObject, keys: readonly string[]): JsonObject | undefined {
  const others: JsonObject = {}
  const values: JsonObject = {}
  for (const [key, value] of Object.entries(map)) {
    if (value === undefined) continue
    if (!keys.includes(key)) setKey(others, key, value)
    else if (value === null || textOf(value) !== value) values[key] = value
  }
  const absent = keys.filter((key) => getKey(map, key) === undefined)
  const rest: JsonObject = {}
  if (Object.keys(others).length > 0) rest.keys = others
  if (absent.length > 0) rest.absent = absent
  if (Object.keys(values).length > 0) rest.values = values
  return Object.keys(rest).length > 0 ? rest : undefined
}

function textOf(value: Json | undefined): Json | undefined {
  if (value instanceof Float) return String(value.value)
  return isInteger(value) ? String(value) : value
}

/** Compiles `verdict`. */
export function verdictStep(operation: Verdict): Step {
  const olderPath = parsePath(operation.older)
  const newerPath = parsePath(operation.newer)
  const besidePath = parsePath(operation.beside)
  const { good, bad } = operation
  const judge = (outcome: Json, from: JsonObject): string => {
    const beside = readPath(from, besidePath)
    const fits = good.outcomes.includes(outcome as string) && (beside === undefined || good.beside.includes(beside as string))
    return fits ? good.value : bad.value
  }
  const create = (value: Json): Json => (value === good.value ? good.create : value === bad.value ? bad.create : value)
  return {
    lossless: false,
    get(from, to) {
      const outcome = readPath(from, newerPath)
      if (outcome !== undefined) writePath(to, olderPath, judge(outcome, from))
    },
    put(from, to, kept) {
      const value = readPath(from, olderPath)
      if (value === undefined) return
      // An outcome that does not fit the verdict is none: `each` looks at the whole item.
      const outcome = kept === undefined ? undefined : readPath(kept, newerPath)
      writePath(to, newerPath, outcome === undefined ? create(value) : outcome)
    },
    cut(from, kept) {
      const outcome = readPath(from, newerPath)
      if (outcome !== undefined && outcome !== create(judge(outcome, from))) writePath(kept, newerPath, outcome)
    },
  }
}

/** What stands in a remainder for an object that was absent. */
const ABSENT = 'absent'

function isShownAs(value: Json, source: Json | undefined, fields: readonly Path[]): boolean {
  // Other operations may have written into an object that stands for nothing.
  if (source === undefined) return isObject(value) && Object.keys(value).length > 0 && fields.every((path) => readPath(value, path) === undefined)
  if (!isObject(value) || !isObject(source)) return deepEqual(value, source)
  return fields.every((path) => deepEqual(readPath(value, path), readPath(source, path)))
}

/** Compiles `inherit`. `fields` are the older paths that `steps` map, by which two sources are compared. */
export function inheritStep(operation: Inherit, steps: readonly Step[], fields: readonly string[]): Step {
  const olderPath = parsePath(operation.older)
  const newerPath = parsePath(operation.newer)
  const aroundPath = newerPath.slice(0, -1)
  const fromPath = parsePath(operation.from)
  const compared = fields.map(parsePath)
  return {
    lossless: false,
    get(from, to) {
      if (readObject(from, aroundPath) === undefined) return
      const own = readPath(from, newerPath)
      const source = own === undefined ? readPath(from, fromPath) : own
      if (source === undefined) return
      if (!isObject(source)) return writePath(to, olderPath, source)
      const shown = openPath(to, olderPath)
      if (shown !== undefined) for (const step of steps) step.get(source, shown)
    },
    put(from, to, kept) {
      const value = readPath(from, olderPath)
      if (value === undefined) return
      const absent = kept !== undefined && readPath(kept, newerPath) === ABSENT
      if (absent && isShownAs(value, readPath(from, fromPath), compared)) return
      if (!isObject(value)) return writePath(to, newerPath, value)
      const rest = readObject(kept, absent ? fromPath : newerPath)
      const made = openPath(to, newerPath)
      if (made !== undefined) for (const step of steps) step.put(value, made, rest)
    },
    cut(from, kept) {
      const value = readPath(from, newerPath)
      if (value === undefined) writePath(kept, newerPath, ABSENT)
      else if (isObject(value)) cutInto(value, kept, newerPath, steps)
    },
  }
}
