/** Values of rules as texts, for the tests that hold them against recordings. */
import { isCelList, isCelMap } from '@bufbuild/cel'
import { kindOf, type Value } from './cel-function.ts'
import { addressType, networkType } from './cel-network.ts'
import { formatType } from './cel-named-formats.ts'
import { valueOf } from './cel-optional.ts'
import { semverType } from './cel-semver.ts'
import { formatTimestamp, nanosOf, timestampOf } from './cel-time.ts'
import { uriType } from './cel-uri.ts'
import { formatAddress } from './netip.ts'
import { formatSemver } from './semver.ts'

const double = (value: number): string => {
  if (Number.isNaN(value)) return 'NaN'
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf'
  const text = Object.is(value, -0) ? '-0e+0' : value.toExponential()
  return text.replace(/([+-])(\d)$/, '$10$2')
}

const OPAQUE: Record<string, (value: never) => string> = {
  'google.protobuf.Timestamp': (value) => `timestamp(${formatTimestamp(timestampOf(nanosOf(value)))})`,
  'google.protobuf.Duration': (value) => `duration(${nanosOf(value)})`,
  'net.IP': (value) => `ip(${formatAddress(addressType.unwrap(value))})`,
  'net.CIDR': (value) => `cidr(${formatAddress(networkType.unwrap(value))}/${networkType.unwrap(value).bits})`,
  'kubernetes.URL': (value) => `url(${uriType.unwrap(value).text})`,
  'kubernetes.Semver': (value) => `semver(${formatSemver(semverType.unwrap(value))})`,
  'kubernetes.NamedFormat': (value) => `format(${formatType.unwrap(value).name})`,
  optional_type: (value) => (valueOf(value) === undefined ? 'none' : `optional(${show(valueOf(value) as Value)})`),
}

/** A value as recordings show it, e.g. `[1, 2u, double(1.5e+00), "a"]`. */
export function show(value: Value): string {
  const kind = kindOf(value)
  if (typeof value === 'string') return JSON.stringify(value).replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029')
  if (typeof value === 'number') return `double(${double(value)})`
  if (kind === 'uint') return `${(value as { value: bigint }).value}u`
  if (value instanceof Uint8Array) return `b${Buffer.from(value).toString('hex')}`
  if (kind === 'type') return `type(${(value as { name: string }).name})`
  if (isCelList(value)) return `[${[...value].map(show).join(', ')}]`
  if (isCelMap(value)) return `{${[...(value.entries() as Iterable<[Value, Value]>)].map(([key, item]) => `${show(key)}: ${show(item)}`).sort().join(', ')}}`
  return OPAQUE[kind]?.(value as never) ?? String(value)
}
