/** Addresses and networks as rules see them. upstream: apiserver/pkg/cel/library/{ip,cidr}.go */
import { celError } from '@bufbuild/cel'
import { declare, member, overload, type Declaration } from './cel-function.ts'
import { CHARACTER, meter, OBJECT, PARTS } from './cel-meter.ts'
import { opaqueType } from './cel-opaque.ts'
import { BITS, formatAddress, isMapped, masked, parseAddress, parseNetwork, type Address, type Network } from './netip.ts'
import { goQuote } from './status.ts'

/** The types of addresses and networks. */
export const addressType = opaqueType<Address>('net.IP', (a, b) => a.family === b.family && a.value === b.value)
export const networkType = opaqueType<Network>('net.CIDR', (a, b) => a.family === b.family && a.value === b.value && a.bits === b.bits)
const IP = addressType.desc.typeName
const CIDR = networkType.desc.typeName

function readAddress(text: string): Address | string {
  meter.charge(PARTS + text.length * CHARACTER)
  const address = parseAddress(text)
  if (typeof address === 'string') return `IP Address ${goQuote(text)} parse error during conversion from string: ${address}`
  if (address.zone !== undefined) return `IP address ${goQuote(text)} with zone value is not allowed`
  return isMapped(address) ? `IPv4-mapped IPv6 address ${goQuote(text)} is not allowed` : address
}

function readNetwork(text: string): Network | string {
  meter.charge(PARTS + text.length * CHARACTER)
  const network = parseNetwork(text)
  if (typeof network === 'string') return `network address parse error during conversion from string: ${network}`
  return isMapped(network) ? `IPv4-mapped IPv6 address ${goQuote(text)} is not allowed` : network
}

function address(text: string): Address {
  const found = readAddress(text)
  if (typeof found === 'string') throw celError(found)
  return found
}

function network(text: string): Network {
  const found = readNetwork(text)
  if (typeof found === 'string') throw celError(`network address parse error during conversion from string: ${found}`)
  return found
}

function contains(outer: Network, inner: Address, bits: number): boolean {
  meter.charge(OBJECT)
  return outer.family === inner.family && outer.bits <= bits && masked(outer).value === masked({ ...inner, bits: outer.bits }).value
}

function format(address: Address): string {
  meter.charge(PARTS)
  return formatAddress(address)
}

const inNetwork = (text: string, bits: number): ((value: Address) => boolean) => {
  const range = network(`${text}/${bits}`)
  return (value) => contains(range, value, BITS[value.family])
}

type Ranges = Record<4 | 6, (value: Address) => boolean>

const loopback: Ranges = { 4: inNetwork('127.0.0.0', 8), 6: inNetwork('::1', 128) }
const multicast: Ranges = { 4: inNetwork('224.0.0.0', 4), 6: inNetwork('ff00::', 8) }
const linkLocalUnicast: Ranges = { 4: inNetwork('169.254.0.0', 16), 6: inNetwork('fe80::', 10) }
const linkLocalMulticast: Ranges = { 4: inNetwork('224.0.0.0', 24), 6: ({ value }) => (value >> 112n & 0xff0fn) === 0xff02n }

const ofAddress = (value: unknown): Address => addressType.unwrap(value)
const ofNetwork = (value: unknown): Network => networkType.unwrap(value)

const is = (ranges: Ranges, value: Address): boolean => ranges[value.family](value)
const isUnspecified = ({ value }: Address): boolean => value === 0n
const isBroadcast = ({ family, value }: Address): boolean => family === 4 && value === 0xffffffffn
const isGlobalUnicast = (value: Address): boolean =>
  !isUnspecified(value) && !isBroadcast(value) && !is(loopback, value) && !is(multicast, value) && !is(linkLocalUnicast, value)

const containsAddress = (outer: Network, inner: Address): boolean => contains(outer, inner, BITS[inner.family])
const containsNetwork = (outer: Network, inner: Network): boolean => contains(outer, inner, inner.bits)

/** What is no address or network inside of a text argument is another error: upstream passes the failure on as a value. */
const inside = <T>(found: T | string): T => {
  if (typeof found === 'string') throw celError('no such overload')
  return found
}

const ask = (name: string, of: (value: Address) => boolean): Declaration => declare(name, [member([IP], (value) => of(ofAddress(value)))])

/** Texts of addresses and networks, for `string`. */
export const networkTexts = [
  overload([IP], (value) => format(ofAddress(value))),
  overload([CIDR], (value) => `${format(ofNetwork(value))}/${ofNetwork(value).bits}`),
]

/** `ip`, `isIP`, `cidr`, `isCIDR` and their methods. */
export const networkFunctions: Declaration[] = [
  declare('isIP', [overload(['string'], (text) => typeof readAddress(text) !== 'string')]),
  declare('ip', [overload(['string'], (text) => addressType.wrap(address(text))), member([CIDR], (value) => addressType.wrap(ofNetwork(value)))]),
  declare('ip.isCanonical', [overload(['string'], (text) => format(address(text)) === text)]),
  declare('family', [member([IP], (value) => BigInt(ofAddress(value).family))]),
  ask('isUnspecified', isUnspecified),
  ask('isLoopback', (value) => is(loopback, value)),
  ask('isLinkLocalMulticast', (value) => is(linkLocalMulticast, value)),
  ask('isLinkLocalUnicast', (value) => is(linkLocalUnicast, value)),
  ask('isGlobalUnicast', isGlobalUnicast),
  declare('isCIDR', [overload(['string'], (text) => typeof readNetwork(text) !== 'string')]),
  declare('cidr', [overload(['string'], (text) => networkType.wrap(network(text)))]),
  declare('containsIP', [
    member([CIDR, IP], (value, other) => containsAddress(ofNetwork(value), ofAddress(other))),
    member([CIDR, 'string'], (value, text) => containsAddress(ofNetwork(value), inside(readAddress(text)))),
  ]),
  declare('containsCIDR', [
    member([CIDR, CIDR], (value, other) => containsNetwork(ofNetwork(value), ofNetwork(other))),
    member([CIDR, 'string'], (value, text) => containsNetwork(ofNetwork(value), network(text))),
  ]),
  declare('masked', [member([CIDR], (value) => networkType.wrap(masked(ofNetwork(value))))]),
  declare('prefixLength', [member([CIDR], (value) => BigInt(ofNetwork(value).bits))]),
]
