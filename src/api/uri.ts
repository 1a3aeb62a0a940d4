/** URIs as Go parses them, with its texts. upstream: net/url Parse, ParseRequestURI, Query */
import { parseAddress } from './netip.ts'
import { goQuote } from './status.ts'

/** A parsed URI; what is absent is "". */
export interface Uri {
  /** The whole as Go writes it again, which is what tells two URIs apart. */
  readonly text: string
  readonly scheme: string
  /** Host and port, as they are without escapes. */
  readonly host: string
  readonly hostname: string
  readonly port: string
  /** The path, escaped. */
  readonly path: string
  /** Values of each parameter, in order. */
  readonly query: ReadonlyMap<string, readonly string[]>
}

class UriError extends Error {}

/** Why a text is no absolute URI and no absolute path, undefined for one. */
export function requestUriFault(text: string): string | undefined {
  const parsed = tryParse(text, text, true)
  return typeof parsed === 'string' ? parsed : undefined
}

/** Parses an absolute URI or absolute path with an optional fragment; the reason for a text that is none. */
export function parseUri(text: string): Uri | string {
  const fault = requestUriFault(text)
  if (fault !== undefined) return fault
  const hash = text.indexOf('#')
  const bare = hash < 0 ? text : text.slice(0, hash)
  const parsed = tryParse(bare, bare, false)
  if (hash < 0 || typeof parsed === 'string') return parsed
  const fragment = unescapeOr(text.slice(hash + 1), text)
  return typeof fragment === 'string' ? fragment : { ...parsed, text: fragment.value === '' ? parsed.text : `${parsed.text}#${escapeFragment(text.slice(hash + 1), fragment.value)}` }
}

const escapeFragment = (written: string, plain: string): string => (VALID_FRAGMENT.test(written) ? written : escape(text(plain), FRAGMENT_TEXT))

const named = (text: string, reason: string): string => `parse ${goQuote(text)}: ${reason}`

function unescapeOr(fragment: string, whole: string): { value: string } | string {
  try {
    return { value: unescape(fragment, 'path') }
  } catch (error) {
    return named(whole, (error as Error).message)
  }
}

function tryParse(text: string, shown: string, request: boolean): Uri | string {
  try {
    return parse(text, request)
  } catch (error) {
    if (!(error instanceof UriError)) throw error
    return named(shown, error.message)
  }
}

const NOTHING = { host: '', user: '' }
// What Go leaves as it is in a host, a user name and a path.
const VALID_FRAGMENT = /^[A-Za-z0-9\-._~!$&'()*+,;=:@/?[\]%]*$/
const FRAGMENT_TEXT = /[^A-Za-z0-9\-._~!$&()*+,;=:@/?]+/gu
const HOST_TEXT = /[^A-Za-z0-9\-._~!$&'()*+,;=:[\]<>"]+/gu
const USER_TEXT = /[^A-Za-z0-9\-._~$&+,;=]+/gu

function parse(text: string, request: boolean): Uri {
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  if (/[\x00-\x1f\x7f]/.test(text)) throw new UriError('net/url: invalid control character in URL')
  if (text === '' && request) throw new UriError('empty url')
  if (text === '*') return build('', NOTHING, { path: '*', written: '*' }, '')
  if (text.startsWith(':')) throw new UriError('missing protocol scheme')
  const scheme = /^([A-Za-z][A-Za-z0-9+.-]*):/.exec(text)?.[1] ?? ''
  const [rest, search] = cut(scheme === '' ? text : text.slice(scheme.length + 1))
  if (!rest.startsWith('/')) {
    if (scheme === '') throw new UriError('invalid URI for request')
    return { ...build(scheme.toLowerCase(), NOTHING, { path: '', written: '' }, search), text: `${scheme.toLowerCase()}:${rest}${search}` }
  }
  const hasAuthority = rest.startsWith('//') && (scheme !== '' || (!request && !rest.startsWith('///')))
  if (!hasAuthority) return build(scheme.toLowerCase(), NOTHING, parsePath(rest), search)
  const slash = rest.indexOf('/', 2)
  const authority = parseAuthority(scheme.toLowerCase(), slash < 0 ? rest.slice(2) : rest.slice(2, slash))
  return build(scheme.toLowerCase(), authority, parsePath(slash < 0 ? '' : rest.slice(slash)), search, '//')
}

/** What stands before the question mark, and the rest with it. */
function cut(text: string): [string, string] {
  const question = text.indexOf('?')
  return question < 0 ? [text, ''] : [text.slice(0, question), text.slice(question)]
}

interface Path {
  readonly path: string
  readonly written: string
}

function build(scheme: string, { host, user }: typeof NOTHING, path: Path, search: string, slashes = ''): Uri {
  const [, name = '', port = ''] = /^(.*?)(?::(\d*))?$/s.exec(host) ?? []
  const hostname = name.startsWith('[') && name.endsWith(']') ? name.slice(1, -1) : name
  const escaped = escapePath(path)
  const empty = host === '' && user === '' && escaped === ''
  const text = `${scheme === '' ? '' : `${scheme}:`}${empty ? '' : slashes}${user === '' ? '' : `${user}@`}${escape(host, HOST_TEXT)}${escaped}${search}`
  return { text, scheme, host, hostname, port, path: escaped, query: parseQuery(search.slice(1)) }
}

const parsePath = (written: string): Path => ({ path: unescape(written, 'path'), written })

// pchar of RFC 3986 and what browsers leave alone
const VALID_PATH = /^[A-Za-z0-9\-._~!$&'()*+,;=:@/[\]%]*$/
const PLAIN_PATH = /[^A-Za-z0-9\-._~$&+,/:;=@]+/gu

function escapePath({ path, written }: Path): string {
  if (path === '*') return '*'
  if (VALID_PATH.test(written)) return written
  return escape(text(path), PLAIN_PATH)
}

const escape = (plain: string, other: RegExp): string =>
  plain.replace(other, (run) => encodeURIComponent(run).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`))

function parseAuthority(scheme: string, authority: string): typeof NOTHING {
  const at = authority.lastIndexOf('@')
  const host = parseHost(scheme, authority.slice(at + 1))
  const user = authority.slice(0, Math.max(at, 0))
  if (!/^[A-Za-z0-9\-._:~!$&'()*+,;=%@]*$/.test(user)) throw new UriError('net/url: invalid userinfo')
  const colon = user.indexOf(':')
  const names = colon < 0 ? [user] : [user.slice(0, colon), user.slice(colon + 1)]
  return { host, user: names.map((name) => escape(text(unescape(name, 'path')), USER_TEXT)).join(':') }
}

function parseHost(scheme: string, host: string): string {
  const open = host.lastIndexOf('[')
  if (open > 0) throw new UriError('invalid IP-literal')
  if (open === 0) return parseLiteral(host)
  const first = host.indexOf(':')
  // only of these two a host has no more colons
  const colon = scheme === 'http' || scheme === 'https' ? first : host.lastIndexOf(':')
  if (first >= 0) checkPort(host.slice(colon))
  return text(unescape(host, 'host'))
}

function checkPort(port: string): void {
  if (!/^(?::\d*)?$/.test(port)) throw new UriError(`invalid port ${goQuote(port)} after host`)
}

function parseLiteral(host: string): string {
  const close = host.lastIndexOf(']')
  if (close < 0) throw new UriError("missing ']' in host")
  checkPort(host.slice(close + 1))
  const inner = host.slice(1, close)
  const zone = inner.indexOf('%25')
  const name = text(zone < 0 ? unescape(inner, 'host') : unescape(inner.slice(0, zone), 'host') + unescape(inner.slice(zone), 'zone'))
  const address = parseAddress(name)
  if (typeof address === 'string') throw new UriError(`invalid host: ${address}`)
  if (address.family === 4) throw new UriError('invalid IP-literal')
  return `[${name}]${host.slice(close + 1)}`
}

const HOST_CHAR = /[A-Za-z0-9\-._~!$&'()*+,;=:[\]<>"]/

type Mode = 'path' | 'host' | 'zone' | 'query'

/** The bytes that a text stands for, one character each. */
function unescape(escaped: string, mode: Mode): string {
  const bytes = Buffer.from(escaped).toString('latin1')
  for (const [token] of bytes.matchAll(/%[\s\S]{0,2}|[\s\S]/g)) {
    if (token.startsWith('%')) checkEscape(token, mode)
    else if ((mode === 'host' || mode === 'zone') && token < '\x80' && !HOST_CHAR.test(token)) throw new UriError(`invalid character ${goQuote(token)} in host name`)
  }
  const spaced = mode === 'query' ? bytes.replaceAll('+', ' ') : bytes
  return spaced.replace(/%(..)/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
}

function checkEscape(token: string, mode: Mode): void {
  const byte = /^%[0-9A-Fa-f]{2}$/.test(token) ? Number.parseInt(token.slice(1), 16) : -1
  const allowed = mode === 'host' ? byte >= 0x80 || byte === 0x25 : mode !== 'zone' || byte === 0x25 || byte === 0x20 || HOST_CHAR.test(String.fromCharCode(Math.max(byte, 0)))
  if (byte < 0 || !allowed) throw new UriError(`invalid URL escape ${goQuote(text(token))}`)
}

/** Bytes as a text. */
const text = (bytes: string): string => Buffer.from(bytes, 'latin1').toString()

// upstream: url.Query, which leaves out what it cannot read
function parseQuery(search: string): ReadonlyMap<string, readonly string[]> {
  const query = new Map<string, string[]>()
  const pairs = search.split('&')
  if (pairs.length > MAX_PARAMETERS) return query
  for (const pair of pairs) {
    if (pair === '' || pair.includes(';')) continue
    const equals = pair.indexOf('=')
    try {
      const key = text(unescape(equals < 0 ? pair : pair.slice(0, equals), 'query'))
      const value = text(unescape(equals < 0 ? '' : pair.slice(equals + 1), 'query'))
      const known = query.get(key)
      if (known === undefined) query.set(key, [value])
      else known.push(value)
    } catch (error) {
      if (!(error instanceof UriError)) throw error
    }
  }
  return query
}

/** upstream: net/url urlmaxqueryparams */
const MAX_PARAMETERS = 10_000
