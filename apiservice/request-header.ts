/**
 * Who a front proxy says is calling: kube-apiserver, which has authenticated the user and passes the request on.
 * upstream: apiserver/pkg/authentication/request/headerrequest/requestheader.go: NewDynamicVerifyOptionsSecure, requestHeaderAuthRequestHandler
 */
import type { X509Certificate } from 'node:crypto'
import type { Socket } from 'node:net'
import type { Clock } from '../src/base/clock.ts'
import { asAuthenticated, type Authenticator, type User } from './auth.ts'
import { isValidAt, parseAuthorities, peerCertificate, subjectValues } from './peer-certificate.ts'

/** Which front proxies count, and in which headers they tell the user. Header names in any case. */
export interface RequestHeaderTrust {
  /** PEM: who signs the client certificates of front proxies. */
  readonly ca: string
  /** Common names that such a certificate may have; none: any. */
  readonly allowedNames: readonly string[]
  readonly usernameHeaders: readonly string[]
  readonly uidHeaders: readonly string[]
  readonly groupHeaders: readonly string[]
  readonly extraHeaderPrefixes: readonly string[]
}

/** Authenticates by the headers of a front proxy. They count only on a connection that shows a client certificate of its authority and names. */
export function requestHeader(trust: RequestHeaderTrust, { clock }: { readonly clock: Clock }): Authenticator {
  const authorities = parseAuthorities(trust.ca)
  const allowed = new Set(trust.allowedNames)
  const known = new WeakMap<Socket, X509Certificate | 'none'>()
  const proxyOf = (socket: Socket): X509Certificate | 'none' => {
    const certificate = peerCertificate(socket, authorities)
    return certificate && (allowed.size === 0 || allowed.has(subjectValues(certificate, 'CN').at(-1) ?? '')) ? certificate : 'none'
  }
  return async ({ rawHeaders, socket }) => {
    let proxy = known.get(socket)
    if (proxy === undefined) {
      proxy = proxyOf(socket)
      known.set(socket, proxy)
    }
    return proxy !== 'none' && isValidAt(proxy, clock.now()) ? userOf(rawHeaders, trust) : undefined
  }
}

/** The user that the headers tell (names and values in turn), in system:authenticated; undefined when they tell none. */
export function userOf(rawHeaders: readonly string[], trust: Omit<RequestHeaderTrust, 'ca' | 'allowedNames'>): User | undefined {
  const headers = byName(rawHeaders)
  const name = firstValue(headers, trust.usernameHeaders)
  if (name === undefined) return undefined
  const uid = firstValue(headers, trust.uidHeaders)
  const groups = trust.groupHeaders.flatMap((header) => headers.get(header.toLowerCase()) ?? []).filter((group) => group !== '')
  const extra = extraOf(headers, trust.extraHeaderPrefixes)
  return asAuthenticated({ name, groups, ...(uid === undefined ? {} : { uid }), ...(extra.length === 0 ? {} : { extra: Object.fromEntries(extra) }) })
}

function byName(rawHeaders: readonly string[]): Map<string, string[]> {
  const headers = new Map<string, string[]>()
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = (rawHeaders[i] as string).toLowerCase()
    const value = (rawHeaders[i + 1] as string).trim()
    const values = headers.get(name)
    if (values) values.push(value)
    else headers.set(name, [value])
  }
  return headers
}

// The first header that is there and not empty counts, and of it the first value.
function firstValue(headers: ReadonlyMap<string, readonly string[]>, names: readonly string[]): string | undefined {
  for (const name of names) {
    const value = headers.get(name.toLowerCase())?.[0]
    if (value) return value
  }
  return undefined
}

function extraOf(headers: ReadonlyMap<string, readonly string[]>, prefixes: readonly string[]): [string, string[]][] {
  const extra = new Map<string, string[]>()
  for (const prefix of prefixes.map((text) => text.toLowerCase())) {
    for (const [name, values] of headers) {
      if (!name.startsWith(prefix)) continue
      const key = unescapeKey(name.slice(prefix.length))
      extra.set(key, [...(extra.get(key) ?? []), ...values])
    }
  }
  return [...extra]
}

// upstream: unescapeExtraKey. What is badly escaped counts as it is.
function unescapeKey(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
