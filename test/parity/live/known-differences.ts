/** Where our answers differ from those of kube-apiserver and we know why. */
import type { Difference } from './compare.ts'

export interface KnownDifference {
  readonly reason: string
  applies(difference: Difference): boolean
}

export const knownDifferences: readonly KnownDifference[] = []
