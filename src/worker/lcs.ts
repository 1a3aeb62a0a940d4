/** Longest common subsequence, for lines of a diff and for cells of two notebooks. */

/** `result[i * (b.length + 1) + j]`: the length of the longest common subsequence of `a` from i and `b` from j. Time and space |a|·|b|; lengths ≤ 65535. */
export function lcsLengths<T>(a: readonly T[], b: readonly T[]): Uint16Array {
  const width = b.length + 1
  const lengths = new Uint16Array((a.length + 1) * width)
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      lengths[i * width + j] =
        a[i] === b[j] ? lengths[(i + 1) * width + j + 1]! + 1 : Math.max(lengths[(i + 1) * width + j]!, lengths[i * width + j + 1]!)
    }
  }
  return lengths
}
