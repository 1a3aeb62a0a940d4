/** The order in which keys are printed in YAML. */
/** The order in which yaml/v2 prints keys: letters after everything else, digits by their number. upstream: sorter.go keyList.Less */
export function compareNatural(a: string, b: string): number {
  const left = [...a]
  const right = [...b]
  for (let i = 0; i < left.length && i < right.length; i++) {
    const l = left[i] as string
    const r = right[i] as string
    if (l === r) continue
    const letters = [LETTER.test(l), LETTER.test(r)]
    if (letters[0] && letters[1]) return l < r ? -1 : 1
    if (letters[0] || letters[1]) return letters[1] ? -1 : 1
    return compareDigits(left, right, i)
  }
  return left.length - right.length
}

const LETTER = /^\p{L}$/u
const DIGIT = /^\p{Nd}$/u

function compareDigits(left: string[], right: string[], from: number): number {
  // Digits before the difference, unless all are zero, make leading zeros of the rest count.
  let lead = ''
  if (left[from] === '0' || right[from] === '0') {
    for (let j = from - 1; j >= 0 && DIGIT.test(left[j] as string); j--) if (left[j] !== '0') lead = '1'
  }
  const a = digitsFrom(left, from)
  const b = digitsFrom(right, from)
  const byValue = Number(lead + a || '0') - Number(lead + b || '0')
  if (byValue !== 0) return byValue
  if (a.length !== b.length) return a.length - b.length
  return (left[from] as string) < (right[from] as string) ? -1 : 1
}

function digitsFrom(chars: string[], from: number): string {
  let end = from
  while (end < chars.length && DIGIT.test(chars[end] as string)) end++
  return chars.slice(from, end).join('')
}
