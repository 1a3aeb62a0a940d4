/**
 * Lenses as data: how two neighbouring versions of a resource relate, field by field. A lens shows the newer version
 * as the older one and puts what was written in the older one back; compileLens (lens-compile.ts) makes it run and
 * refuses a lens that forgets a field. Paths are field names joined by dots, relative to the object that the
 * operation stands in; the two sides of a lens are always called older and newer.
 */

/** Fields with the same name and meaning on both sides. */
export interface Same {
  readonly op: 'same'
  readonly fields: readonly string[]
}

/**
 * A field, a list or a whole subtree under another name or in another place; with `operations`, an object whose fields differ too. An object on the way
 * to the newer place that is empty or null is kept, as the newer version's own; one on the way to the older place must never be.
 */
export interface Rename {
  readonly op: 'rename'
  readonly older: string
  readonly newer: string
  readonly operations?: readonly Operation[]
}

/** A value that the newer version wraps in an object: `"x"` ⇄ `{name: "x"}`. */
export interface Wrap {
  readonly op: 'wrap'
  readonly older: string
  readonly newer: string
  readonly key: string
}

/** Fields that the newer version gathers in an object, older name to name in there. It is there when one of them is. */
export interface Group {
  readonly op: 'group'
  readonly newer: string
  readonly fields: Names
}

/** Fields of several older objects that are fields of one newer object, by older object. */
export interface Regroup {
  readonly op: 'regroup'
  readonly newer: string
  readonly objects: { readonly [older: string]: Names }
}

/** Older field names to newer ones. */
export type Names = { readonly [older: string]: string }

/**
 * Some keys of the newer version's map, shown as fields. An absent key is shown as the older version's default of its
 * field, and stays absent while that is what is written; an integer is shown as text and stays one while that text is.
 */
export interface Pick {
  readonly op: 'pick'
  readonly field: string
  readonly keys: readonly string[]
}

/**
 * Lists whose items differ. An item belongs to the original item with the same key and the same place among those with
 * that key; what the older version does not show of it is kept only while all that it shows is unchanged.
 */
export interface Each {
  readonly op: 'each'
  readonly older: string
  readonly newer: string
  readonly key: { readonly older: string; readonly newer: string }
  readonly operations: readonly Operation[]
}

/**
 * A verdict of two values in place of an outcome of many, which another field (`beside`) may turn. Only in items of
 * `each`, where both are kept as long as the item is unchanged.
 */
export interface Verdict {
  readonly op: 'verdict'
  readonly older: string
  readonly newer: string
  readonly beside: string
  /** The verdict, when `outcomes` has the outcome and `beside` has the other field's value or that is absent. */
  readonly good: { readonly value: string; readonly outcomes: readonly string[]; readonly beside: readonly string[]; readonly create: string }
  readonly bad: { readonly value: string; readonly create: string }
}

/**
 * An object that, when absent, means another one (`from`): the older version shows that one in its place. It stays
 * absent while what is written equals the other. `from` has the same place on both sides and a rename with the same operations. Nothing is shown unless the newer object around it is there.
 */
export interface Inherit {
  readonly op: 'inherit'
  readonly older: string
  readonly newer: string
  readonly from: string
  readonly operations: readonly Operation[]
}

/** Fields that only the newer version has. */
export interface Newer {
  readonly op: 'newer'
  readonly fields: readonly string[]
}

export type Operation = Same | Rename | Wrap | Group | Regroup | Pick | Each | Verdict | Inherit | Newer

/** A lens between two neighbouring versions, by name. Its operations begin at the fields of the whole object. */
export interface Lens {
  readonly older: string
  readonly newer: string
  readonly operations: readonly Operation[]
}

/** See Same. */
export function same(...fields: string[]): Same {
  return { op: 'same', fields }
}

/** See Rename. */
export function rename(older: string, newer: string, operations?: readonly Operation[]): Rename {
  return operations === undefined ? { op: 'rename', older, newer } : { op: 'rename', older, newer, operations }
}

/** An object of the same name on both sides, whose fields differ: a rename to its own name. */
export function within(field: string, operations: readonly Operation[]): Rename {
  return rename(field, field, operations)
}

/** See Wrap. */
export function wrap(older: string, newer: string, key: string): Wrap {
  return { op: 'wrap', older, newer, key }
}

/** See Group. */
export function group(newer: string, fields: Names): Group {
  return { op: 'group', newer, fields }
}

/** See Regroup. */
export function regroup(newer: string, objects: Regroup['objects']): Regroup {
  return { op: 'regroup', newer, objects }
}

/** See Pick. */
export function pick(field: string, keys: readonly string[]): Pick {
  return { op: 'pick', field, keys }
}

/** See Each. `key` is the older and the newer name of the key. */
export function each(older: string, newer: string, key: readonly [older: string, newer: string], operations: readonly Operation[]): Each {
  return { op: 'each', older, newer, key: { older: key[0], newer: key[1] }, operations }
}

/** See Verdict. */
export function verdict(older: string, newer: string, table: Omit<Verdict, 'op' | 'older' | 'newer'>): Verdict {
  return { op: 'verdict', older, newer, ...table }
}

/** See Inherit. */
export function inherit(older: string, newer: string, from: string, operations: readonly Operation[]): Inherit {
  return { op: 'inherit', older, newer, from, operations }
}

/** See Newer. */
export function newer(...fields: string[]): Newer {
  return { op: 'newer', fields }
}
