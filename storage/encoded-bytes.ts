/** Encoded forms of cached objects, made once and kept under one budget of bytes for all caches. */
import { HeldEntry, ownBytes } from './cache-entry.ts'
import type { EncodedForm } from './cache-entry.ts'
import type { CacheEntry, Codec, ReadyBytes } from './watch-cache.ts'

/** What a form costs beside its bytes: the typed array, its buffer and the links, as measured. */
const FORM_OVERHEAD = 600

/** A form in its entry's chain and in the budget's ring. It does not point to the entry, so that the ring keeps no replaced object alive. */
class Form implements EncodedForm {
  readonly version: string
  readonly sibling: EncodedForm | undefined
  ready: ReadyBytes | undefined = undefined
  /** Bytes it takes of the budget; 0: outside the ring. */
  cost = 0
  newer: Form = this
  older: Form = this

  constructor(version: string, sibling: EncodedForm | undefined) {
    this.version = version
    this.sibling = sibling
  }
}

/** A limit on the bytes of encoded forms, shared by all caches: the least recently used go first. */
export class ByteBudget {
  readonly limit: number
  #used = 0
  /** The ring's fixed point: `newer` is the oldest form, `older` the newest. */
  readonly #ring = new Form('', undefined)

  /** `limit` in bytes; default 256 MiB. */
  constructor(limit: number = 256 * 1024 * 1024) {
    this.limit = limit
  }

  /** Bytes that the kept forms take now. */
  get used(): number {
    return this.#used
  }

  /** The entry's JSON in a version, made at the first call and kept while the budget lasts. What `codec` throws goes through. */
  encode(entry: CacheEntry, version: string, codec: Codec): ReadyBytes {
    if (!(entry instanceof HeldEntry)) return codec.encode(entry.key, entry.value, version)
    let form = entry.forms as Form | undefined
    while (form !== undefined && form.version !== version) form = form.sibling as Form | undefined
    if (form?.ready !== undefined) {
      if (form.cost > 0) this.#touch(form)
      return form.ready
    }
    if (form === undefined) entry.forms = form = new Form(version, entry.forms)
    return this.#fill(form, entry, codec)
  }

  /** Gives back what the entry's forms take: it will hardly be asked for again. */
  release(entry: HeldEntry): void {
    for (let form = entry.forms as Form | undefined; form !== undefined; form = form.sibling as Form | undefined) this.#drop(form)
    entry.forms = undefined
  }

  #fill(form: Form, entry: HeldEntry, codec: Codec): ReadyBytes {
    const made = codec.encode(entry.key, entry.value, form.version)
    if (made.bytes.buffer === entry.value.buffer) {
      // A view of the entry's own bytes lives and dies with the entry and costs nothing.
      form.ready = made
      return made
    }
    const ready: ReadyBytes = { bytes: ownBytes(made.bytes), place: made.place }
    const cost = ready.bytes.byteLength + FORM_OVERHEAD
    if (cost > this.limit) return ready
    form.ready = ready
    form.cost = cost
    this.#used += cost
    this.#link(form)
    while (this.#used > this.limit) this.#drop(this.#ring.newer)
    return ready
  }

  #touch(form: Form): void {
    form.newer.older = form.older
    form.older.newer = form.newer
    this.#link(form)
  }

  #link(form: Form): void {
    const newest = this.#ring.older
    form.older = newest
    form.newer = this.#ring
    newest.newer = form
    this.#ring.older = form
  }

  #drop(form: Form): void {
    if (form.cost > 0) {
      form.newer.older = form.older
      form.older.newer = form.newer
      form.newer = form.older = form
      this.#used -= form.cost
      form.cost = 0
    }
    form.ready = undefined
  }
}
