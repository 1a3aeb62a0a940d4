/** Small damage to JSON: what clients send by mistake. */
import { Float, isObject, setKey, type Json, type JsonObject } from '../../../src/api/object.ts'
import type { Random } from './random.ts'

const ODD: readonly Json[] = [
  null, true, false, 0, 1, -1, 7, 65536, 1.5, new Float(3), new Float(1e300), 9007199254740993n, 9223372036854775807n, '', 'x', 'UPPER', 'a b', '5', '10%', '-1', 'ä€𝄞', 'x'.repeat(70),
  '2026-01-02T03:04:05Z', '1Gi', [], {}, [null], [1, 'a'], ['a', 'a'], { a: 1 }, { a: null }, { a: { b: [] } }, [{}], [{ a: 'x' }, { a: 'x' }],
]
const NAMES = ['extra', 'a', 'spec', 'status', 'Name', '', 'x.y', 'metadata', '__proto__', 'kind']

/** The value with `count` random changes; the value given stays as it is. */
export function mutate(value: Json, random: Random, count: number): Json {
  let changed = value
  for (let i = 0; i < count; i++) changed = change(changed, random)
  return changed
}

/** A value that no schema has asked for. */
export const oddValue = (random: Random): Json => random.pick(ODD)

function change(value: Json, random: Random): Json {
  const deeper = random.chance(0.75)
  if (Array.isArray(value) && value.length > 0) return deeper ? changeItem(value, random) : changeList(value, random)
  if (isObject(value) && Object.keys(value).length > 0) return deeper ? changeMember(value, random) : changeMembers(value, random)
  return oddValue(random)
}

function changeItem(list: readonly Json[], random: Random): Json {
  const place = random.below(list.length)
  return list.map((item, i) => (i === place ? change(item, random) : item))
}

function changeList(list: readonly Json[], random: Random): Json {
  const place = random.below(list.length)
  return random.weighted<() => Json>([
    [2, () => [...list, list[place] as Json]],
    [2, () => list.filter((_, i) => i !== place)],
    [1, () => list.toReversed()],
    [1, () => [...list, oddValue(random)]],
    [1, () => oddValue(random)],
  ])()
}

function changeMember(object: JsonObject, random: Random): Json {
  const name = random.pick(Object.keys(object))
  return withMember(object, name, change(object[name] as Json, random))
}

function changeMembers(object: JsonObject, random: Random): Json {
  const name = random.pick(Object.keys(object))
  return random.weighted<() => Json>([
    [3, () => Object.fromEntries(Object.entries(object).filter(([key]) => key !== name))],
    [2, () => withMember(object, random.pick(NAMES), oddValue(random))],
    [2, () => withMember(object, name, oddValue(random))],
    [1, () => withMember(object, name, null)],
    [1, () => oddValue(random)],
  ])()
}

/** The object with a member set, also one of the name `__proto__`. */
export function withMember(object: JsonObject, name: string, value: Json): JsonObject {
  const copy = Object.fromEntries(Object.entries(object)) as JsonObject
  setKey(copy, name, value)
  return copy
}

/** The object with each of its members, down to `depth`, only kept with the probability. */
export function thin(value: Json, random: Random, keep: number, required: (path: string) => boolean, depth = 3, path = ''): Json {
  if (!isObject(value) || depth === 0) return value
  const thinned: JsonObject = {}
  for (const [name, member] of Object.entries(value)) {
    const place = path === '' ? name : `${path}.${name}`
    if (required(place) || random.chance(keep)) setKey(thinned, name, thin(member as Json, random, Math.sqrt(keep), required, depth - 1, place))
  }
  return thinned
}
