/**
 * The versions of a resource and how they relate. The hub is the newest version; every other is reached from it
 * through neighbours. A version that is poorer than the hub is stored with a remainder: what it cannot show.
 * All functions are pure; conversion never validates.
 */
import type { Lens } from './lens.ts'
import type { JsonObject, KubeObject } from './object.ts'

/** What a version cannot show of a hub object, cut and applied by the lenses; canonical JSON when stored. */
export type Remainder = JsonObject

/** An object as it is stored: at `version`, with the remainder that completes it to the hub form. */
export interface Stored {
  readonly version: string
  readonly object: KubeObject
  readonly remainder?: Remainder
}

/** Conversion between the versions of one resource. Objects are whole, pruned and defaulted in their own version. */
export interface Conversion {
  /** The versions differ in nothing but their name (strategy None of a CRD). */
  readonly renamesOnly?: true
  /** What it is made of; absent where the versions differ in nothing. */
  readonly lenses?: readonly Lens[]
  /** Name of the hub version. */
  readonly hub: string
  /** Versions that do not show all of the hub object: what is stored at them has a remainder. Absent: none. */
  readonly poorer?: readonly string[]
  /** Hub object → the form that `version` shows. `version` may be the hub itself. */
  show(hubObject: KubeObject, version: string): KubeObject
  /**
   * An object written in `version` → hub form. With `original` (the live object in hub form) what `version` cannot show
   * is kept (lens `put`); without, the newer side takes its defaults (lens `create`). Pruned and defaulted in the hub version.
   */
  lift(object: KubeObject, version: string, original?: KubeObject): KubeObject
  /** Hub object → what is stored at `version`. */
  store(hubObject: KubeObject, version: string): Stored
  /** What is stored → hub object. */
  load(stored: Stored): KubeObject
}
