/** URLs as Go's net/url takes them apart, as far as definitions need it. upstream: net/url.Parse */
import { goQuote } from './status.ts'

/** The parts of a URL; absent ones are "". `user` is undefined where there is none. */
export interface GoUrl {
  readonly scheme: string
  readonly host: string
  readonly user: string | undefined
  readonly path: string
  readonly query: string
  readonly fragment: string
}

/** Parses a URL; a text is the reason why it is none. */
export function parseGoUrl(text: string): GoUrl | string {
  const fail = (reason: string): string => `parse ${goQuote(text)}: ${reason}`
  // oxlint-disable-next-line no-control-regex
  if (/[\x00-\x1f\x7f]/.test(text)) return fail('net/url: invalid control character in URL')
  const [beforeFragment = '', ...fragments] = text.split('#')
  const scheme = /^([A-Za-z][A-Za-z0-9+.-]*):/.exec(beforeFragment)?.[1]
  if (beforeFragment.startsWith(':')) return fail('missing protocol scheme')
  const rest = scheme === undefined ? beforeFragment : beforeFragment.slice(scheme.length + 1)
  const [hierarchy = '', ...queries] = rest.split('?')
  const colon = hierarchy.split('/')[0] ?? ''
  if (scheme === undefined && colon.includes(':')) return fail('first path segment in URL cannot contain colon')
  const authority = hierarchy.startsWith('//') ? (hierarchy.slice(2).split('/')[0] ?? '') : ''
  const at = authority.lastIndexOf('@')
  const host = authority.slice(at + 1)
  const port = /:([^\]:]*)$/.exec(host)
  if (port !== null && !/^\d*$/.test(port[1] ?? '')) return fail(`invalid port ${goQuote(`:${port[1]}`)} after host`)
  const bad = /%(?![0-9A-Fa-f]{2}).{0,2}/.exec(hierarchy)
  if (bad !== null) return fail(`invalid URL escape ${goQuote(bad[0])}`)
  const space = / |[<>"]/.exec(host)
  if (space !== null) return fail(`invalid character ${goQuote(space[0])} in host name`)
  return {
    scheme: scheme?.toLowerCase() ?? '',
    host,
    user: at < 0 ? undefined : authority.slice(0, at),
    path: hierarchy.startsWith('//') ? hierarchy.slice(2 + authority.length) : hierarchy,
    query: queries.join('?'),
    fragment: fragments.join('#'),
  }
}
