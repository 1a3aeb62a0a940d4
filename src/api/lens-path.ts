/** Places in objects, for the steps of lenses: read anything, write only into objects that are being made. */
import { getKey, isObject, setKey, type Json, type JsonObject } from './object.ts'

/** Field names from an object down. */
export type Path = readonly string[]

/** Field names joined by dots, as a path. */
export function parsePath(dotted: string): Path {
  return dotted.split('.')
}

/** What is at a path, or undefined when anything on the way is no object. */
export function readPath(object: JsonObject, path: Path): Json | undefined {
  let value: Json | undefined = object
  for (const name of path) {
    if (!isObject(value)) return undefined
    value = getKey(value, name)
  }
  return value
}

/** The object at a path, or undefined when there is none. */
export function readObject(object: JsonObject | undefined, path: Path): JsonObject | undefined {
  const value = object === undefined ? undefined : readPath(object, path)
  return isObject(value) ? value : undefined
}

/** Writes a value, making the objects on the way. Where something else is in the way nothing is written. */
export function writePath(object: JsonObject, path: Path, value: Json): void {
  const container = path.length === 1 ? object : openPath(object, path.slice(0, -1))
  if (container !== undefined) setKey(container, path[path.length - 1] as string, value)
}

/** The object at a path, made when absent, or undefined where something else is in the way. */
export function openPath(object: JsonObject, path: Path): JsonObject | undefined {
  let container = object
  for (const name of path) {
    let next = getKey(container, name)
    if (next === undefined) setKey(container, name, (next = {}))
    if (!isObject(next)) return undefined
    container = next
  }
  return container
}
