/** Kube-aware version order. upstream: apimachinery/pkg/version/helpers.go: CompareKubeAwareVersionStrings */
import { compareBytes } from './status.ts'

const KUBE_VERSION = /^v([1-9][0-9]*)(?:(alpha|beta)([1-9][0-9]*))?$/
const STABILITY = { alpha: 0, beta: 1, ga: 2 }

/**
 * Orders versions for Array.sort, the most stable and newest first: v2, v1, v2beta1, v1beta2, v1alpha1, and after them whatever
 * is no such version, alphabetically.
 */
export function compareVersions(a: string, b: string): number {
  const left = parse(a)
  const right = parse(b)
  if (!left || !right) return left ? -1 : right ? 1 : compareBytes(a, b)
  return right.stability - left.stability || compareBigints(right.major, left.major) || compareBigints(right.minor, left.minor)
}

/** Names of versions, the oldest first. */
export function oldestFirst(versions: readonly string[]): string[] {
  return versions.toSorted(compareVersions).reverse()
}

function parse(version: string): { stability: number; major: bigint; minor: bigint } | undefined {
  const match = KUBE_VERSION.exec(version)
  if (!match) return undefined
  const [, major = '0', stage, minor = '0'] = match
  return { stability: STABILITY[(stage ?? 'ga') as keyof typeof STABILITY], major: BigInt(major), minor: BigInt(minor) }
}

function compareBigints(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0
}
