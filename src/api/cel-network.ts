/**
 * Addresses and networks as rules see them.
 * upstream: apiserver/pkg/cel/library/{ip,cidr}.go, net/netip
 */
import { CelScalar, celError, celFunc, celMethod, type CelFunc, type CelValue } from '@bufbuild/cel'
import { opaqueType } from './cel-opaque.ts'

interface Address {
  readonly family: 4 | 6
  readonly value: bigint
}

interface Network extends Address {
  readonly bits: number
}

const BITS = { 4: 32, 6: 128 } as const
const { BOOL, INT, STRING } = CelScalar

/** Parses an address, undefined for what is none. Zones and IPv4 written as IPv6 are refused, as upstream. */
export function parseAddress(text: string): Address | undefined {
  const address = text.includes(':') ? parseV6(text) : parseV4(text)
  return address?.family === 6 && address.value >> 32n === 0xffffn ? undefined : address
}

function parseV4(text: string): Address | undefined {
  const parts = text.split('.')
  if (parts.length !== 4 || !parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part) && Number(part) < 256)) return undefined
  return { family: 4, value: parts.reduce((value, part) => (value << 8n) | BigInt(part), 0n) }
}

function parseV6(text: string): Address | undefined {
  const tail = /:(\d+\.\d+\.\d+\.\d+)$/.exec(text)
  const v4 = tail && parseV4(tail[1] ?? '')
  if (tail && !v4) return undefined
  const hex = v4 ? `${text.slice(0, tail.index + 1)}${(v4.value >> 16n).toString(16)}:${(v4.value & 0xffffn).toString(16)}` : text
  const halves = hex.split('::')
  if (halves.length > 2) return undefined
  const [head = [], rest = []] = halves.map((half) => (half === '' ? [] : half.split(':')))
  const missing = 8 - head.length - rest.length
  if (halves.length === 2 ? missing < 1 : missing !== 0) return undefined
  const groups = [...head, ...Array.from({ length: halves.length === 2 ? missing : 0 }, () => '0'), ...rest]
  if (!groups.every((group) => /^[0-9A-Fa-f]{1,4}$/.test(group))) return undefined
  return { family: 6, value: groups.reduce((value, group) => (value << 16n) | BigInt(`0x${group}`), 0n) }
}

/** Parses a network, undefined for what is none. */
export function parseNetwork(text: string): Network | undefined {
  const [host = '', length = '', ...more] = text.split('/')
  const address = parseAddress(host)
  if (address === undefined || more.length > 0 || !/^(0|[1-9]\d{0,2})$/.test(length) || Number(length) > BITS[address.family]) return undefined
  return { ...address, bits: Number(length) }
}

function formatAddress({ family, value }: Address): string {
  if (family === 4) return [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 255n).join('.')
  const groups = Array.from({ length: 8 }, (_, i) => ((value >> BigInt(112 - 16 * i)) & 0xffffn).toString(16))
  const zeros = groups.map((_, i) => groups.slice(i).findIndex((group) => group !== '0')).map((run, i) => (run < 0 ? 8 - i : run))
  const longest = Math.max(...zeros)
  if (longest < 2) return groups.join(':')
  const start = zeros.indexOf(longest)
  return `${groups.slice(0, start).join(':')}::${groups.slice(start + longest).join(':')}`
}

const masked = ({ family, value, bits }: Network): Network => {
  const host = BigInt(BITS[family] - bits)
  return { family, value: (value >> host) << host, bits }
}

const contains = (network: Network, address: Address, bits: number): boolean =>
  network.family === address.family && network.bits <= bits && masked(network).value === masked({ ...address, bits: network.bits }).value

const addressType = opaqueType<Address>('net.IP', (a, b) => a.family === b.family && a.value === b.value)
const networkType = opaqueType<Network>('net.CIDR', (a, b) => a.family === b.family && a.value === b.value && a.bits === b.bits)
const IP = addressType.type
const CIDR = networkType.type

function address(text: string): Address {
  const parsed = parseAddress(text)
  if (parsed === undefined) throw celError(`IP Address ${JSON.stringify(text)} parse error during conversion from string: unable to parse IP`)
  return parsed
}

function network(text: string): Network {
  const parsed = parseNetwork(text)
  if (parsed === undefined) throw celError('network address parse error during conversion from string: invalid CIDR address')
  return parsed
}

const inNetwork = (text: string, bits: string): ((value: Address) => boolean) => {
  const range = network(`${text}/${bits}`)
  return (value) => contains(range, value, BITS[value.family])
}
const loopback = { 4: inNetwork('127.0.0.0', '8'), 6: inNetwork('::1', '128') }
const multicast = { 4: inNetwork('224.0.0.0', '4'), 6: inNetwork('ff00::', '8') }
const linkLocalMulticast = { 4: inNetwork('224.0.0.0', '24'), 6: inNetwork('ff02::', '16') }
const linkLocalUnicast = { 4: inNetwork('169.254.0.0', '16'), 6: inNetwork('fe80::', '10') }

const is = (ranges: Record<4 | 6, (value: Address) => boolean>, value: CelValue): boolean => {
  const found = addressType.unwrap(value)
  return ranges[found.family](found)
}
const isUnspecified = (value: CelValue): boolean => addressType.unwrap(value).value === 0n
const isBroadcast = (value: CelValue): boolean => addressType.unwrap(value).family === 4 && addressType.unwrap(value).value === 0xffffffffn
const isGlobalUnicast = (value: CelValue): boolean =>
  !isUnspecified(value) && !isBroadcast(value) && !is(loopback, value) && !is(multicast, value) && !is(linkLocalUnicast, value)

const containsAddress = (outer: CelValue, inner: Address): boolean => contains(networkType.unwrap(outer), inner, BITS[inner.family])
const containsNetwork = (outer: CelValue, inner: Network): boolean => contains(networkType.unwrap(outer), inner, inner.bits)

/** `ip`, `isIP`, `cidr`, `isCIDR` and their methods. */
export const networkFunctions: CelFunc[] = [
  celFunc('isIP', [STRING], BOOL, (text) => parseAddress(text) !== undefined),
  celFunc('ip', [STRING], IP, (text) => addressType.wrap(address(text))),
  celFunc('ip.isCanonical', [STRING], BOOL, (text) => formatAddress(address(text)) === text),
  celFunc('string', [IP], STRING, (value) => formatAddress(addressType.unwrap(value))),
  celMethod('family', IP, [], INT, function () { return BigInt(addressType.unwrap(this).family) }),
  celMethod('isUnspecified', IP, [], BOOL, function () { return isUnspecified(this) }),
  celMethod('isLoopback', IP, [], BOOL, function () { return is(loopback, this) }),
  celMethod('isLinkLocalMulticast', IP, [], BOOL, function () { return is(linkLocalMulticast, this) }),
  celMethod('isLinkLocalUnicast', IP, [], BOOL, function () { return is(linkLocalUnicast, this) }),
  celMethod('isGlobalUnicast', IP, [], BOOL, function () { return isGlobalUnicast(this) }),
  celFunc('isCIDR', [STRING], BOOL, (text) => parseNetwork(text) !== undefined),
  celFunc('cidr', [STRING], CIDR, (text) => networkType.wrap(network(text))),
  celFunc('string', [CIDR], STRING, (value) => `${formatAddress(networkType.unwrap(value))}/${networkType.unwrap(value).bits}`),
  celMethod('containsIP', CIDR, [IP], BOOL, function (value) { return containsAddress(this, addressType.unwrap(value)) }),
  celMethod('containsIP', CIDR, [STRING], BOOL, function (text) { return containsAddress(this, address(text)) }),
  celMethod('containsCIDR', CIDR, [CIDR], BOOL, function (value) { return containsNetwork(this, networkType.unwrap(value)) }),
  celMethod('containsCIDR', CIDR, [STRING], BOOL, function (text) { return containsNetwork(this, network(text)) }),
  celMethod('ip', CIDR, [], IP, function () { return addressType.wrap(networkType.unwrap(this)) }),
  celMethod('masked', CIDR, [], CIDR, function () { return networkType.wrap(masked(networkType.unwrap(this))) }),
  celMethod('prefixLength', CIDR, [], INT, function () { return BigInt(networkType.unwrap(this).bits) }),
]
