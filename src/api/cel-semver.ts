/** Versions as rules see them. upstream: apiserver/pkg/cel/library/semverlib.go (version 1) */
import { celError } from '@bufbuild/cel'
import { declare, member, overload, type Declaration } from './cel-function.ts'
import { CHARACTER, meter, OBJECT, PARTS } from './cel-meter.ts'
import { opaqueType } from './cel-opaque.ts'
import { quantityComparisons } from './cel-quantity.ts'
import { compareSemver, normalizeSemver, parseSemver, type Semver } from './semver.ts'

/** The type of versions. */
export const semverType = opaqueType<Semver>('kubernetes.Semver', (a, b) => compareSemver(a, b) === 0)
const SEMVER = semverType.desc.typeName
const { unwrap } = semverType

function parse(text: string, normalize: boolean): Semver | string {
  meter.charge(2 * PARTS + text.length * CHARACTER)
  return normalize ? normalizeSemver(text) : parseSemver(text)
}

function semver(text: string, normalize: boolean): unknown {
  const parsed = parse(text, normalize)
  if (typeof parsed === 'string') throw celError(parsed)
  return semverType.wrap(parsed)
}

const isSemver = (text: string, normalize: boolean): boolean => typeof parse(text, normalize) !== 'string'

function compare(a: unknown, b: unknown): number {
  meter.charge(OBJECT)
  return compareSemver(unwrap(a), unwrap(b))
}
// upstream: types.Int of a uint64
const number = (value: unknown, i: 0 | 1 | 2): bigint => BigInt.asIntN(64, unwrap(value).numbers[i])

/** The functions of versions, and the comparisons that quantities have, too. */
export const semverFunctions: Declaration[] = [
  declare('semver', [overload(['string'], (text) => semver(text, false)), overload(['string', 'bool'], semver)]),
  declare('isSemver', [overload(['string'], (text) => isSemver(text, false)), overload(['string', 'bool'], isSemver)]),
  declare('major', [member([SEMVER], (value) => number(value, 0))]),
  declare('minor', [member([SEMVER], (value) => number(value, 1))]),
  declare('patch', [member([SEMVER], (value) => number(value, 2))]),
  declare('isGreaterThan', [quantityComparisons.isGreaterThan, member([SEMVER, SEMVER], (a, b) => compare(a, b) > 0)]),
  declare('isLessThan', [quantityComparisons.isLessThan, member([SEMVER, SEMVER], (a, b) => compare(a, b) < 0)]),
  declare('compareTo', [quantityComparisons.compareTo, member([SEMVER, SEMVER], (a, b) => BigInt(compare(a, b)))]),
]
