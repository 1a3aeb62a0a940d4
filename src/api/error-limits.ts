/**
 * How much is said of what is wrong. Upstream says all of it, and one request may ask for gigabytes: a path stands in each of its errors, and a
 * key alone may be as long as a body.
 */
import type { FieldError } from './status.ts'

/** After so many errors validation looks no further. */
export const MAX_FIELD_ERRORS = 10_000
/** UTF-16 units of all texts of a kind in one answer; what goes beyond it is the last. */
const MAX_TEXT = 1024 * 1024

/** Appends errors while there is room. One by one: as arguments of push they would overflow the stack. */
export function addErrors(errors: FieldError[], ...lists: readonly (readonly FieldError[])[]): void {
  for (const list of lists) {
    for (const error of list) if (errors.length < MAX_FIELD_ERRORS) errors.push(error)
  }
}

/** The errors that fit, and at least one. */
export function fittingErrors(errors: readonly FieldError[]): readonly FieldError[] {
  const texts = new BoundedTexts()
  let count = 0
  while (count < errors.length && count < MAX_FIELD_ERRORS && !texts.full) {
    const { field, body } = errors[count++] as FieldError
    texts.count(field.length + body.length)
  }
  return count === errors.length ? errors : errors.slice(0, count)
}

/** Texts while there is room, and at least one. */
export class BoundedTexts {
  readonly texts: string[] = []
  #length = 0

  /** Whether what is added is dropped. */
  get full(): boolean {
    return this.#length > MAX_TEXT
  }

  /** Uses up room without a text. */
  count(length: number): void {
    this.#length += length
  }

  add(text: string): void {
    if (this.full) return
    this.count(text.length)
    this.texts.push(text)
  }
}
