/**
 * Absolute URIs and absolute paths as rules see them.
 * upstream: net/url: ParseRequestURI; apiserver/pkg/cel/library/urls.go
 */

/** A parsed URI; what is absent is "". */
export interface Uri {
  readonly text: string
  readonly scheme: string
  /** Host and port. */
  readonly host: string
  readonly hostname: string
  readonly port: string
  /** The path, escaped. */
  readonly path: string
  /** Values of each parameter, in order. */
  readonly query: Map<string, string[]>
}

const ESCAPE = /%(?![0-9A-Fa-f]{2})/
// eslint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u001f\u007f]/
const HOST = /^(?:[A-Za-z0-9\-._~!$&'()*+,;=:"<>]|%[0-9A-Fa-f]{2}|[\u0080-\uffff])*$/

/** Parses a URI, undefined for what is none: it must have a scheme or begin with a slash. */
export function parseUri(text: string): Uri | undefined {
  if (text === '' || CONTROL.test(text)) return undefined
  const scheme = /^([A-Za-z][A-Za-z0-9+.-]*):/.exec(text)?.[1] ?? ''
  let rest = scheme === '' ? text : text.slice(scheme.length + 1)
  const question = rest.indexOf('?')
  const search = question < 0 ? '' : rest.slice(question + 1)
  if (question >= 0) rest = rest.slice(0, question)
  if (!rest.startsWith('/')) return scheme === '' ? undefined : build(text, scheme, { host: '', hostname: '', port: '' }, '', search)
  let host: { host: string; hostname: string; port: string } | undefined = { host: '', hostname: '', port: '' }
  if (rest.startsWith('//') && (scheme !== '' || !rest.startsWith('///'))) {
    const slash = rest.indexOf('/', 2)
    host = scheme === '' ? host : parseAuthority(slash < 0 ? rest.slice(2) : rest.slice(2, slash))
    if (scheme !== '') rest = slash < 0 ? '' : rest.slice(slash)
  }
  if (host === undefined || ESCAPE.test(rest)) return undefined
  return build(text, scheme, host, rest, search)
}

function build(text: string, scheme: string, host: { host: string; hostname: string; port: string }, path: string, search: string): Uri {
  return { text, scheme: scheme.toLowerCase(), ...host, path: path.replace(/[^A-Za-z0-9\-._~!$&'()*+,;=:@/%[\]]/gu, encodeURIComponent), query: parseQuery(search) }
}

function parseAuthority(authority: string): { host: string; hostname: string; port: string } | undefined {
  const at = authority.lastIndexOf('@')
  const user = authority.slice(0, Math.max(at, 0))
  if (!/^[A-Za-z0-9\-._:~!$&'()*+,;=%@]*$/.test(user)) return undefined
  const host = authority.slice(at + 1)
  const match = host.startsWith('[') ? /^\[([^\]]*)\](?::(\d*))?$/.exec(host) : /^([^:]*)(?::(\d*))?$/.exec(host)
  if (match === null || (!host.startsWith('[') && (!HOST.test(host) || /[[\]]/.test(host)))) return undefined
  return { host, hostname: match[1] ?? '', port: match[2] ?? '' }
}

function parseQuery(search: string): Map<string, string[]> {
  const query = new Map<string, string[]>()
  for (const part of search.split('&')) {
    if (part === '' || part.includes(';') || ESCAPE.test(part)) continue
    const [key, value] = [part.split('=', 1)[0] ?? '', part.includes('=') ? part.slice(part.indexOf('=') + 1) : '']
    const name = unescape(key)
    query.set(name, [...(query.get(name) ?? []), unescape(value)])
  }
  return query
}

function unescape(text: string): string {
  const bytes = Buffer.from(text.replaceAll('+', ' ')).toString('latin1').replace(/%([0-9A-Fa-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return Buffer.from(bytes, 'latin1').toString()
}
