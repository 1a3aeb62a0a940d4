/**
 * JSON patch (RFC 6902) with the leniencies of the library that upstream uses.
 * upstream: apiserver/pkg/endpoints/handlers/patch.go: jsonPatcher.applyJSPatch; evanphx/json-patch v4 patch.go
 */
import { DecodeError, jsonKind } from './go-json-error.ts'
import { decodeJson } from './json-parse.ts'
import { deepEqual, getKey, isObject, setKey, type Json, type JsonObject } from './object.ts'
import { badRequest, renderJson, requestEntityTooLarge, unprocessablePatch } from './status.ts'

/** A decoded JSON patch. `findings` are what field validation warns of or refuses, e.g. `json patch unknown field "[0].foo"`. */
export interface DecodedJsonPatch {
  readonly operations: readonly (JsonObject | null)[]
  readonly findings: readonly string[]
}

const MAX_OPERATIONS = 10000
const MEMBERS = ['op', 'path', 'from', 'value']

/**
 * Decodes the body of a JSON patch. `strict` is true unless fieldValidation is Ignore: then members are type-checked and findings reported.
 * Throws 400 with Go's text for a body that is no array of operations, 413 for more than 10000 operations.
 */
export function decodeJsonPatch(text: string, { strict }: { strict: boolean }): DecodedJsonPatch {
  try {
    const { value, duplicates } = decodeJson(text)
    const operations = value === null ? [] : toOperations(value, strict)
    if (operations.length > MAX_OPERATIONS) {
      throw requestEntityTooLarge(`The allowed maximum operations in a JSON patch is ${MAX_OPERATIONS}, got ${operations.length}`)
    }
    if (!strict) return { operations, findings: [] }
    const findings = [...unknownMembers(operations), ...duplicates.map((path) => `duplicate field "${path}"`)]
    return { operations, findings: findings.map((finding) => `json patch ${finding}`) }
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    const { message } = wrongRoot(text, strict) ?? error
    throw badRequest(strict ? `error decoding patch: ${message.replace(/(number \S+ into Go )value of/, '$1struct field jsonPatchOp.value of')}` : message)
  }
}

// That a patch is no array is found before a number that is out of range.
function wrongRoot(text: string, strict: boolean): DecodeError | undefined {
  try {
    toOperations(JSON.parse(text) as Json, strict)
    return undefined
  } catch (error) {
    return error instanceof DecodeError ? error : undefined
  }
}

function toOperations(value: Json, strict: boolean): (JsonObject | null)[] {
  const mismatch = (found: Json, type: string): never => {
    throw new DecodeError(`json: cannot unmarshal ${jsonKind(found)} into Go ${type}`)
  }
  if (!Array.isArray(value)) return mismatch(value, `value of type ${strict ? '[]handlers.jsonPatchOp' : 'jsonpatch.Patch'}`)
  return value.map((operation) => {
    if (operation === null) return null
    if (!isObject(operation)) return mismatch(operation, `value of type ${strict ? 'handlers.jsonPatchOp' : 'jsonpatch.Operation'}`)
    for (const member of strict ? ['op', 'path', 'from'] : []) {
      const found = getKey(operation, member)
      if (found !== undefined && found !== null && typeof found !== 'string') mismatch(found, `struct field jsonPatchOp.${member} of type string`)
    }
    return operation
  })
}

function unknownMembers(operations: readonly (JsonObject | null)[]): string[] {
  return operations.flatMap((operation, i) =>
    Object.keys(operation ?? {})
      .filter((member) => !MEMBERS.includes(member))
      .map((member) => `unknown field "[${i}].${member}"`),
  )
}

/** What all `copy` operations of one patch may add, in bytes of JSON. upstream: server.Config.JSONPatchMaxCopyBytes */
const MAX_COPY_BYTES = 3 * 1024 * 1024
/** What one patch may shift and compare, in array elements and object members; no honest patch comes near. */
const MAX_WORK = 32_000_000

/**
 * Applies the operations of a JSON patch. Throws 422 for every failure to apply, without the reason, as upstream.
 * Lenient as upstream: `replace` of a missing object key adds it, negative indices count from the end, the part of a
 * pointer before its first slash is ignored, an absent `value` is null. What nests too deep for the stack fails like the rest.
 */
export function applyJsonPatch(target: Json, operations: readonly (JsonObject | null)[]): Json {
  const patching = new Patching(target)
  try {
    for (const operation of operations) patching.apply(operation ?? {})
  } catch (error) {
    if (error instanceof RangeError) throw unprocessablePatch()
    throw error
  }
  return patching.root
}

type Container = JsonObject | Json[]

const refuse = (): never => {
  throw unprocessablePatch()
}

const stringMember = (operation: JsonObject, name: string): string => {
  const value = getKey(operation, name)
  return typeof value === 'string' ? value : refuse()
}

/** A document while it is patched. Containers are copied the first time they change; those in `own` are already private. */
class Patching {
  root: Json
  readonly #own = new Set<Container>()
  #copied = 0
  #work = 0

  constructor(root: Json) {
    this.root = root
  }

  apply(operation: JsonObject): void {
    const value = (): Json => getKey(operation, 'value') ?? null
    switch (getKey(operation, 'op')) {
      case 'add':
        return this.#add(stringMember(operation, 'path'), value())
      case 'remove':
        return void this.#remove(stringMember(operation, 'path'))
      case 'replace':
        return this.#replace(stringMember(operation, 'path'), value())
      case 'move': {
        const moved = this.#remove(stringMember(operation, 'from'))
        return this.#add(stringMember(operation, 'path'), moved)
      }
      case 'copy':
        return this.#copy(stringMember(operation, 'from'), stringMember(operation, 'path'))
      case 'test':
        return this.#test(stringMember(operation, 'path'), value())
      default:
        return refuse()
    }
  }

  #add(pointer: string, value: Json): void {
    const [container, key] = this.#writable(pointer)
    if (!Array.isArray(container)) return setKey(container, key, value)
    // upstream counts negative indices of `add` from the end of the longer array, so that -1 appends
    const index = key === '-' ? container.length : arrayIndex(key, container.length + 1)
    this.#charge(container.length)
    container.splice(index, 0, value)
  }

  #remove(pointer: string): Json {
    const [container, key] = this.#writable(pointer)
    if (Array.isArray(container)) {
      this.#charge(container.length)
      return container.splice(arrayIndex(key, container.length), 1)[0] ?? null
    }
    const value = getKey(container, key)
    if (value === undefined) return refuse()
    delete container[key]
    return value
  }

  #replace(pointer: string, value: Json): void {
    if (pointer === '') {
      this.root = isContainer(value) ? value : refuse()
      return
    }
    const [container, key] = this.#writable(pointer)
    if (Array.isArray(container)) container[arrayIndex(key, container.length)] = value
    else setKey(container, key, value)
  }

  #copy(from: string, to: string): void {
    this.#read(from)
    // Upstream has parsed what leads to the new place before it copies, which may be what is copied.
    this.#writable(to)
    const value = this.#read(from) ?? null
    this.#copied += Buffer.byteLength(renderJson(value))
    if (this.#copied > MAX_COPY_BYTES) refuse()
    this.#add(to, this.#shared(value))
  }

  #test(pointer: string, expected: Json): void {
    const actual = pointer === '' ? this.root : (this.#read(pointer) ?? null)
    if (!this.#equal(actual, expected)) refuse()
  }

  #equal(a: Json, b: Json): boolean {
    if (!isContainer(a) || !isContainer(b)) return deepEqual(a, b)
    if (Array.isArray(a)) return Array.isArray(b) && a.length === b.length && a.every((item, i) => this.#equal(item, b[i] ?? null))
    if (Array.isArray(b)) return false
    const keys = Object.keys(a)
    this.#charge(keys.length)
    return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && this.#equal(a[key] ?? null, b[key] ?? null))
  }

  #charge(work: number): void {
    this.#work += work
    if (this.#work > MAX_WORK) refuse()
  }

  /** The value at a pointer; undefined for a missing key of an object that is there. What is on the way is private then: upstream has parsed it, and forgets its order. */
  #read(pointer: string): Json | undefined {
    const [container, key] = this.#writable(pointer)
    return child(container, key)
  }

  /** The container that a pointer leads into, made private, and the last key. */
  #writable(pointer: string): [Container, string] {
    const [parents, key] = split(pointer)
    let container = this.#privatize(this.root)
    this.root = container
    for (const part of parents) {
      const next = this.#privatize(child(container, part))
      if (Array.isArray(container)) container[arrayIndex(part, container.length)] = next
      else setKey(container, part, next)
      container = next
    }
    return [container, key]
  }

  /** A value that may stand in a second place: what is private is copied, and only that may hold something private. */
  #shared(value: Json): Json {
    if (!isContainer(value) || !this.#own.has(value)) return value
    if (Array.isArray(value)) return value.map((item) => this.#shared(item))
    const copy: JsonObject = {}
    for (const key of Object.keys(value)) setKey(copy, key, this.#shared(value[key] ?? null))
    return copy
  }

  #privatize(node: Json | undefined): Container {
    if (!isContainer(node)) return refuse()
    if (this.#own.has(node)) return node
    const copy: Container = Array.isArray(node) ? [...node] : { ...node }
    this.#own.add(copy)
    return copy
  }
}

function isContainer(value: Json | undefined): value is Container {
  return Array.isArray(value) || isObject(value)
}

function split(pointer: string): [string[], string] {
  const parts = pointer.split('/').slice(1).map((part) => (part.includes('~') ? part.replace(/~[01]/g, (escape) => (escape === '~1' ? '/' : '~')) : part))
  const key = parts.pop()
  return key === undefined ? refuse() : [parts, key]
}

function child(node: Json | undefined, key: string): Json | undefined {
  if (Array.isArray(node)) return node[arrayIndex(key, node.length)]
  return isObject(node) ? getKey(node, key) : refuse()
}

// upstream: strconv.Atoi, so that `+1` and `01` are indices too; negative ones count from the end
function arrayIndex(key: string, length: number): number {
  if (!/^[+-]?[0-9]+$/.test(key)) return refuse()
  const number = Number(key)
  const index = number < 0 ? number + length : number + 0
  return index >= 0 && index < length ? index : refuse()
}
