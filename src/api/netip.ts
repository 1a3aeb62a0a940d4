/** Addresses and networks in Go's strict syntax, with its texts. upstream: net/netip ParseAddr, ParsePrefix */
import { goQuote } from './status.ts'

/** An address; `zone` only with IPv6. */
export interface Address {
  readonly family: 4 | 6
  readonly value: bigint
  readonly zone?: string
}

/** An address and how many of its bits tell the network. */
export interface Network extends Address {
  readonly bits: number
}

/** The number of bits of a family's addresses. */
export const BITS = { 4: 32, 6: 128 } as const

class AddressError extends Error {
  constructor(text: string, reason: string, at = '') {
    super(`ParseAddr(${goQuote(text)}): ${reason}${at === '' ? '' : ` (at ${goQuote(at)})`}`)
  }
}

/** Parses an address; the reason for a text that is none. */
export function parseAddress(text: string): Address | string {
  const first = /[.:%]/.exec(text)?.[0]
  try {
    if (first === '.') return { family: 4, value: parseFields(text, text) }
    if (first === ':') return parseV6(text)
    throw new AddressError(text, first === '%' ? 'missing IPv6 address' : 'unable to parse IP')
  } catch (error) {
    if (!(error instanceof AddressError)) throw error
    return error.message
  }
}

/** Four decimal fields; `fields` is the end of the text `whole`. */
function parseFields(whole: string, fields: string): bigint {
  let value = 0n
  let field = 0
  let digits = 0
  let count = 0
  for (let i = 0; i < fields.length; i++) {
    const char = fields[i] as string
    if (/\d/.test(char)) {
      if (digits === 1 && field === 0) throw new AddressError(whole, 'IPv4 field has octet with leading zero')
      field = field * 10 + Number(char)
      digits++
      if (field > 255) throw new AddressError(whole, 'IPv4 field has value >255')
    } else if (char === '.') {
      if (i === 0 || i === fields.length - 1 || fields[i - 1] === '.') throw new AddressError(whole, 'IPv4 field must have at least one digit', fields.slice(i))
      if (count === 3) throw new AddressError(whole, 'IPv4 address too long')
      value = (value << 8n) | BigInt(field)
      count++
      field = digits = 0
    } else throw new AddressError(whole, 'unexpected character', fields.slice(i))
  }
  if (count < 3) throw new AddressError(whole, 'IPv4 address too short')
  return (value << 8n) | BigInt(field)
}

function parseV6(text: string): Address {
  const percent = text.indexOf('%')
  if (percent === text.length - 1) throw new AddressError(text, 'zone must be a non-empty string')
  const zone = percent < 0 ? {} : { zone: text.slice(percent + 1) }
  const { groups, gap } = parseGroups(text, percent < 0 ? text : text.slice(0, percent))
  if (groups.length < 8 && gap < 0) throw new AddressError(text, 'address string too short')
  if (groups.length === 8 && gap >= 0) throw new AddressError(text, 'the :: must expand to at least one field of zeros')
  const zeros = Array.from({ length: 8 - groups.length }, () => 0)
  const all = gap < 0 ? groups : [...groups.slice(0, gap), ...zeros, ...groups.slice(gap)]
  return { family: 6, value: all.reduce((value, group) => (value << 16n) | BigInt(group), 0n), ...zone }
}

/** The groups that are written, and before which of them the `::` stands (-1 without one). */
function parseGroups(text: string, address: string): { groups: number[]; gap: number } {
  const groups: number[] = []
  let gap = address.startsWith('::') ? 0 : -1
  let rest = gap === 0 ? address.slice(2) : address
  while (rest !== '' || (groups.length === 0 && gap < 0)) {
    if (groups.length === 8) throw new AddressError(text, 'trailing garbage after address', rest)
    const digits = /^[\dA-Fa-f]*/.exec(rest)?.[0] as string
    if (digits.length > 4) throw new AddressError(text, 'each group must have 4 or less digits', rest)
    if (digits === '') throw new AddressError(text, 'each colon-separated field must have at least one digit', rest)
    if (rest[digits.length] === '.') {
      groups.push(...embedded(text, rest, groups.length, gap))
      break
    }
    groups.push(Number.parseInt(digits, 16))
    rest = rest.slice(digits.length)
    if (rest === '') break
    rest = afterColon(text, rest)
    if (!rest.startsWith(':')) continue
    if (gap >= 0) throw new AddressError(text, 'multiple :: in address', rest)
    gap = groups.length
    rest = rest.slice(1)
  }
  return { groups, gap }
}

function afterColon(text: string, rest: string): string {
  if (!rest.startsWith(':')) throw new AddressError(text, 'unexpected character, want colon', rest)
  if (rest === ':') throw new AddressError(text, 'colon must be followed by more characters', rest)
  return rest.slice(1)
}

function embedded(text: string, rest: string, before: number, gap: number): [number, number] {
  if (gap < 0 && before !== 6) throw new AddressError(text, 'embedded IPv4 address must replace the final 2 fields of the address', rest)
  if (before > 6) throw new AddressError(text, 'too many hex fields to fit an embedded IPv4 at the end of the address', rest)
  const value = parseFields(text, rest)
  return [Number(value >> 16n), Number(value & 0xffffn)]
}

/** Parses a network; the reason for a text that is none. */
export function parseNetwork(text: string): Network | string {
  const failed = (reason: string): string => `netip.ParsePrefix(${goQuote(text)}): ${reason}`
  const slash = text.lastIndexOf('/')
  if (slash < 0) return failed("no '/'")
  const address = parseAddress(text.slice(0, slash))
  if (typeof address === 'string') return failed(address)
  if (address.zone !== undefined) return failed('IPv6 zones cannot be present in a prefix')
  const length = text.slice(slash + 1)
  if (!/^(?:\d|[1-9]\d{1,17})$/.test(length)) return failed(`bad bits after slash: ${goQuote(length)}`)
  if (Number(length) > BITS[address.family]) return failed('prefix length out of range')
  return { ...address, bits: Number(length) }
}

/** Whether an address is an IPv4 one written as IPv6. */
export const isMapped = ({ family, value }: Address): boolean => family === 6 && value >> 32n === 0xffffn

/** The canonical text, of the address alone. */
export function formatAddress({ family, value }: Address): string {
  if (family === 4) return [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 255n).join('.')
  const groups = Array.from({ length: 8 }, (_, i) => ((value >> BigInt(112 - 16 * i)) & 0xffffn).toString(16))
  const zeros = groups.map((_, i) => groups.slice(i).findIndex((group) => group !== '0')).map((run, i) => (run < 0 ? 8 - i : run))
  const longest = Math.max(...zeros)
  if (longest < 2) return groups.join(':')
  const start = zeros.indexOf(longest)
  return `${groups.slice(0, start).join(':')}::${groups.slice(start + longest).join(':')}`
}

/** The network with all bits of its hosts cleared. */
export function masked({ family, value, bits }: Network): Network {
  const host = BigInt(BITS[family] - bits)
  return { family, value: (value >> host) << host, bits }
}
