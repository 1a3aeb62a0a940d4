/**
 * Formats of addresses and URIs, as Go parses them.
 * upstream: kube-openapi/pkg/internal/third_party/govalidator, k8s.io/utils/internal/third_party/forked/golang/net (ParseIPSloppy, ParseCIDRSloppy), net/url
 */

/** Four decimal numbers up to 255; leading zeros are tolerated. */
function isDottedQuad(text: string): boolean {
  const parts = text.split('.', 5)
  return parts.length === 4 && parts.every((part) => /^\d+$/.test(part) && Number(part) <= 255)
}

function isIpv6Text(text: string): boolean {
  if (text.length > 100 || /[^\da-fA-F:.]/.test(text)) return false
  const halves = text.split('::')
  if (halves.length > 2) return false
  const [left, right] = halves.map((half) => (half === '' ? [] : half.split(':'))) as [string[], string[] | undefined]
  const groups = [...left, ...(right ?? [])]
  const last = groups.at(-1) ?? ''
  const quad = last.includes('.')
  if (quad && (!isDottedQuad(last) || text.endsWith('::'))) return false
  const hex = quad ? groups.slice(0, -1) : groups
  if (!hex.every((group) => /^[\da-fA-F]+$/.test(group) && Number.parseInt(group, 16) <= 0xffff)) return false
  const size = hex.length + (quad ? 2 : 0)
  return right === undefined ? size === 8 : size < 8
}

function isIp(text: string): boolean {
  const first = /[.:]/.exec(text)?.[0]
  return first === '.' ? isDottedQuad(text) : first === ':' && isIpv6Text(text)
}

export const isIpv4 = (text: string): boolean => text.includes('.') && isIp(text)
export const isIpv6 = (text: string): boolean => text.includes(':') && isIp(text)

export function isCidr(text: string): boolean {
  const slash = text.indexOf('/')
  if (slash < 0) return false
  const address = text.slice(0, slash)
  const bits = text.slice(slash + 1)
  if (!/^\d+$/.test(bits)) return false
  if (isDottedQuad(address)) return Number(bits) <= 32
  return isIpv6Text(address) && Number(bits) <= 128
}

const MAC = [
  /^[\da-fA-F]{2}([:-])[\da-fA-F]{2}(?:\1[\da-fA-F]{2}){4}$/,
  /^[\da-fA-F]{2}([:-])[\da-fA-F]{2}(?:\1[\da-fA-F]{2}){6}$/,
  /^[\da-fA-F]{2}([:-])[\da-fA-F]{2}(?:\1[\da-fA-F]{2}){18}$/,
  /^[\da-fA-F]{4}(?:\.[\da-fA-F]{4}){2}$/,
  /^[\da-fA-F]{4}(?:\.[\da-fA-F]{4}){3}$/,
  /^[\da-fA-F]{4}(?:\.[\da-fA-F]{4}){9}$/,
]

export const isMac = (text: string): boolean => MAC.some((form) => form.test(text))

const HOSTNAME =
  /^([a-zA-Z0-9\p{S}\p{L}]((-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?)|([a-zA-Z0-9\p{S}\p{L}](([a-zA-Z0-9\-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?)(\.)){1,}([a-zA-Z\p{L}]){2,63})$/u

export function isHostname(text: string): boolean {
  if (text.length > 255 || Buffer.byteLength(text) > 255) return false
  return HOSTNAME.test(text) && text.split('.').every((label) => Buffer.byteLength(label) <= 63)
}

const BAD_ESCAPE = /%(?![\da-fA-F]{2})/
// What Go lets stand unescaped in a host, beside all that is not ASCII.
const HOST = /^(?:[\w!$&'()*+,;=:[\]<>"\-.~]|[^\x00-\x7f]|%25|%[89a-fA-F][\da-fA-F])*$/ // oxlint-disable-line no-control-regex -- all of ASCII is meant
const USER_INFO = /^[\w\-.:~!$&'()*+,;=%@]*$/

/** upstream: net/url.ParseRequestURI */
export function isRequestUri(text: string): boolean {
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  if (text === '' || /[\x00-\x1f\x7f]/.test(text)) return false
  if (text === '*') return true
  if (text.startsWith(':')) return false
  const scheme = /^([a-zA-Z][a-zA-Z\d+\-.]*):/.exec(text)?.[1]
  const rest = (scheme === undefined ? text : text.slice(scheme.length + 1)).split('?', 1)[0] as string
  if (!rest.startsWith('/')) return scheme !== undefined
  if (scheme === undefined || !rest.startsWith('//')) return !BAD_ESCAPE.test(rest)
  const slash = rest.indexOf('/', 2)
  const authority = slash < 0 ? rest.slice(2) : rest.slice(2, slash)
  return isAuthority(authority) && (slash < 0 || !BAD_ESCAPE.test(rest.slice(slash)))
}

function isAuthority(authority: string): boolean {
  const at = authority.lastIndexOf('@')
  const user = authority.slice(0, Math.max(at, 0))
  if (!USER_INFO.test(user) || BAD_ESCAPE.test(user)) return false
  const host = authority.slice(at + 1)
  if (host.startsWith('[')) {
    const close = host.lastIndexOf(']')
    return close > 0 && isOptionalPort(host.slice(close + 1)) && HOST.test(host.slice(0, close + 1))
  }
  const colon = host.lastIndexOf(':')
  return (colon < 0 || isOptionalPort(host.slice(colon))) && HOST.test(host)
}

function isOptionalPort(text: string): boolean {
  return /^(?::\d*)?$/.test(text)
}
