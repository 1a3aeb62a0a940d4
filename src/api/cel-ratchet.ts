/**
 * Which failures of rules pass because what they look at was not touched.
 * upstream: apiextensions-apiserver/pkg/apiserver/schema/cel/validation.go: ratchetingOptions
 */
import type { Correlation } from './correlation.ts'

/** Where a node stands: its own correlation when it has one, and that of the nearest ancestor that has one. */
export interface Ratchet {
  readonly current?: Correlation | undefined
  readonly parent?: Correlation
}

/** Whether a node, or the nearest ancestor that has an old value, is unchanged. */
export const isUnchanged = ({ current, parent }: Ratchet): boolean => (current ?? parent)?.unchanged ?? false

/** For a member of an object. apiVersion and kind of the root never count as unchanged, since both sides are in one version. */
export function memberRatchet(ratchet: Ratchet, key: string): Ratchet {
  const { current, parent } = ratchet
  if (current === undefined) return ratchet
  if (parent === undefined && (key === 'apiVersion' || key === 'kind')) return {}
  return { current: current.member(key), parent: current }
}

/** For an item of a list. */
export function itemRatchet(ratchet: Ratchet, index: number): Ratchet {
  const { current } = ratchet
  return current === undefined ? ratchet : { current: current.item(index), parent: current }
}
