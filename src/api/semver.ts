/** Semantic versions. upstream: github.com/blang/semver/v4 Parse, apiserver/pkg/cel/library/semverlib.go normalizeAndParse */
import { goQuote } from './status.ts'

/** A version; of the pre-release numbers are bigints. */
export interface Semver {
  readonly numbers: readonly [bigint, bigint, bigint]
  readonly pre: readonly (bigint | string)[]
  readonly build: readonly string[]
}

const PARTS = [['major', 'Major'], ['minor', 'Minor'], ['patch', 'Patch']] as const
const IDENTIFIER = /^[0-9A-Za-z-]+$/

/** Parses a version; the reason for a text that is none. */
export function parseSemver(text: string): Semver | string {
  if (text === '') return 'Version string empty'
  const [major = '', minor, ...more] = text.split('.')
  if (minor === undefined || more.length === 0) return 'No Major.Minor.Patch elements found'
  const [beforeBuild, ...build] = cut(more.join('.'), '+')
  const [patch, ...pre] = cut(beforeBuild, '-')
  const numbers: bigint[] = []
  for (const [i, part] of [major, minor, patch].entries()) {
    const number = parseNumber(part, i)
    if (typeof number === 'string') return number
    numbers.push(number)
  }
  const parsedPre = parsePre(pre)
  if (typeof parsedPre === 'string') return parsedPre
  for (const part of build) {
    if (part === '') return 'Build meta data is empty'
    if (!IDENTIFIER.test(part)) return `Invalid character(s) found in build meta data ${goQuote(part)}`
  }
  return { numbers: numbers as [bigint, bigint, bigint], pre: parsedPre, build }
}

/** What stands before the separator, and the identifiers behind it. */
function cut(text: string, separator: string): [string, ...string[]] {
  const at = text.indexOf(separator)
  return at < 0 ? [text] : [text.slice(0, at), ...text.slice(at + 1).split('.')]
}

function parseNumber(part: string, i: number): bigint | string {
  const [lower, upper] = PARTS[i] as (typeof PARTS)[number]
  // an empty part has none of the wrong characters
  if (!/^\d*$/.test(part)) return `Invalid character(s) found in ${lower} number ${goQuote(part)}`
  if (part.length > 1 && part.startsWith('0')) return `${upper} number must not contain leading zeroes ${goQuote(part)}`
  return parseUint(part)
}

function parseUint(text: string): bigint | string {
  if (text === '') return 'strconv.ParseUint: parsing "": invalid syntax'
  const value = text.length > 20 ? 2n ** 64n : BigInt(text)
  return BigInt.asUintN(64, value) === value ? value : `strconv.ParseUint: parsing ${goQuote(text)}: value out of range`
}

function parsePre(parts: readonly string[]): (bigint | string)[] | string {
  const parsed: (bigint | string)[] = []
  for (const part of parts) {
    if (part === '') return 'Prerelease is empty'
    if (!IDENTIFIER.test(part)) return `Invalid character(s) found in prerelease ${goQuote(part)}`
    if (!/^\d+$/.test(part)) {
      parsed.push(part)
      continue
    }
    if (part.length > 1 && part.startsWith('0')) return `Numeric PreRelease version must not contain leading zeroes ${goQuote(part)}`
    const number = parseUint(part)
    if (typeof number === 'string') return number
    parsed.push(number)
  }
  return parsed
}

/** Parses a version after mending it: without a leading `v`, without leading zeros, with missing parts as 0. */
export function normalizeSemver(text: string): Semver | string {
  const [major = '', minor, ...more] = text.replace(/^v/, '').split('.')
  const parts = [major, ...(minor === undefined ? [] : [minor]), ...(more.length === 0 ? [] : [more.join('.')])].map(withoutZeros)
  if (parts.length < 3 && /[+-]/.test(parts.at(-1) as string)) return 'short version cannot contain PreRelease/Build meta data'
  while (parts.length < 3) parts.push('0')
  return parseSemver(parts.join('.'))
}

function withoutZeros(part: string): string {
  if (part.length < 2) return part
  const rest = part.replace(/^0+/, '')
  return /^\d/.test(rest) ? rest : `0${rest}`
}

/** -1, 0 or 1; builds do not count. */
export function compareSemver(a: Semver, b: Semver): number {
  for (const [i, number] of a.numbers.entries()) {
    const other = b.numbers[i] as bigint
    if (number !== other) return number > other ? 1 : -1
  }
  // a pre-release comes before its version
  if (a.pre.length === 0 || b.pre.length === 0) return Math.sign(b.pre.length - a.pre.length)
  for (const [i, part] of a.pre.entries()) {
    const other = b.pre[i]
    if (other === undefined) return 1
    const order = comparePre(part, other)
    if (order !== 0) return order
  }
  return a.pre.length < b.pre.length ? -1 : 0
}

function comparePre(a: bigint | string, b: bigint | string): number {
  if (typeof a !== typeof b) return typeof a === 'bigint' ? -1 : 1
  return a === b ? 0 : a > b ? 1 : -1
}

/** The version as a text. */
export function formatSemver({ numbers, pre, build }: Semver): string {
  return `${numbers.join('.')}${pre.length > 0 ? `-${pre.join('.')}` : ''}${build.length > 0 ? `+${build.join('.')}` : ''}`
}
