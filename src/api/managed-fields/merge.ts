/**
 * An applied configuration merged into a live value: leaves of the configuration win, nothing is removed.
 * upstream: structured-merge-diff/typed/merge.go
 */
import { isObject, setKey, type Json, type JsonObject } from '../object.ts'
import { finish, type Walk } from '../walk.ts'
import { itemsOf, type Item } from './list-item.ts'
import { elementText } from './serialize.ts'
import { narrow, type Atom, type ListType, type MapType } from './typed.ts'

/** Merges two validated values of the same type; items of the live one may repeat. */
export function mergeTyped(live: JsonObject, config: JsonObject, type: Atom): JsonObject {
  return type.map ? finish(mergeMembers(live, config, type.map)) : config
}

function* mergeNode(live: Json | undefined, config: Json, type: Atom): Walk<Json> {
  if (live === undefined) return config
  // A null of the configuration fits every kind, and so the first that the type takes.
  const { map, scalar, list } = narrow(type, config)
  if (map) {
    const left = isObject(live) ? live : {}
    const right = isObject(config) ? config : {}
    // The difference between empty and null is kept.
    return map.atomic || (isEmpty(left) && isEmpty(right)) ? config : yield* mergeMembers(left, right, map)
  }
  if (scalar || !list) return config
  const left = Array.isArray(live) ? live : []
  const right = Array.isArray(config) ? config : []
  return list.atomic || (left.length === 0 && right.length === 0) ? config : yield* mergeItems(left, right, list)
}

function isEmpty(object: JsonObject): boolean {
  return !Object.values(object).some((member) => member !== undefined)
}

function* mergeMembers(live: JsonObject, config: JsonObject, map: MapType): Walk<JsonObject> {
  const out = { ...live }
  for (const name of Object.keys(config)) {
    const type = map.fields.get(name) ?? map.element
    const member = config[name]
    if (member === undefined || type === undefined) continue
    const old = Object.hasOwn(live, name) ? live[name] : undefined
    setKey(out, name, old === undefined || old === member ? member : ((yield mergeNode(old, member, type)) as Json))
  }
  return out
}

/**
 * The order of a merged list: live order, except that items of both follow the configuration; new items come where the
 * configuration has them. Items that repeat in the live list stay, unless the configuration has their key: then one takes their place.
 * upstream: mergingWalker.visitListItems
 */
function* mergeItems(live: readonly Json[], config: readonly Json[], list: ListType): Walk<Json[]> {
  const { out, pairs } = mergeOrder(itemsOf(list, live).map(keyed), itemsOf(list, config).map(keyed))
  for (const { place, old } of pairs) out[place] = (yield mergeNode(old, out[place] as Json, list.element)) as Json
  return out
}

/** An item with the text of its element. */
interface Keyed {
  readonly key: string
  readonly value: Json
}

const keyed = ({ element, value }: Item): Keyed => ({ key: elementText(element), value })

function mergeOrder(live: readonly Keyed[], config: readonly Keyed[]): ListMerge {
  const merge = new ListMerge(live, config)
  while (merge.step());
  return merge
}

class ListMerge {
  /** Items as they are on one side. */
  readonly out: Json[] = []
  /** Places of items of both sides, with the live one. */
  readonly pairs: { readonly place: number; readonly old: Json }[] = []
  private readonly live: readonly Keyed[]
  private readonly config: readonly Keyed[]
  /** The live value of a key; null where items repeat, which are not merged. */
  private readonly liveValues = new Map<string, Json>()
  private readonly configKeys: ReadonlySet<string>
  private readonly merged = new Set<string>()
  /** Keys that both have, in the order of the configuration; the next to come is at `shared`. */
  private readonly sharedKeys: readonly string[]
  private shared = 0
  private l = 0
  private c = 0

  constructor(live: readonly Keyed[], config: readonly Keyed[]) {
    this.live = live
    this.config = config
    for (const { key, value } of live) this.liveValues.set(key, this.liveValues.has(key) ? null : value)
    this.configKeys = new Set(config.map(({ key }) => key))
    this.sharedKeys = config.map(({ key }) => key).filter((key) => this.liveValues.has(key))
  }

  /** One round; false when both lists are used up. */
  step(): boolean {
    const live = this.live[this.l]
    const config = this.config[this.c]
    if (live === undefined && config === undefined) return false
    if (live !== undefined && config !== undefined) {
      if (live.key === config.key) {
        this.take(config)
        this.l++
        this.shared++
        return true
      }
      if (this.configKeys.has(live.key) && this.shared < this.sharedKeys.length && this.sharedKeys[this.shared] !== live.key) {
        // Of both, but not its turn.
        this.l++
        return true
      }
    }
    if (live !== undefined) {
      if (!this.configKeys.has(live.key)) {
        this.out.push(live.value)
        this.l++
        return true
      }
      if (this.merged.has(live.key)) this.l++
    }
    if (config !== undefined) {
      this.take(config)
      if (this.sharedKeys[this.shared] === config.key) this.shared++
    }
    return true
  }

  private take(config: Keyed): void {
    this.merged.add(config.key)
    this.c++
    const old = this.liveValues.get(config.key)
    if (old !== undefined) this.pairs.push({ place: this.out.length, old })
    this.out.push(config.value)
  }
}
