/**
 * Who a client certificate says its owner is.
 * upstream: apiserver/pkg/authentication/request/x509/x509.go: Authenticator, CommonNameUserConversion
 */
import { createHash, X509Certificate } from 'node:crypto'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import type { Clock } from '../src/base/clock.ts'
import type { Authenticator, User } from './auth.ts'

const PEM = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g
const LONGEST_CHAIN = 8
/** Every authenticated user is in it. upstream: user.AllAuthenticated */
const AUTHENTICATED = 'system:authenticated'

interface Proven {
  readonly user: User
  readonly from: number
  readonly to: number
}

/**
 * Authenticates by the client certificate of the connection, over HTTP/1.1 and HTTP/2: the common name is the user, every
 * organization a group. Counts only when TLS has accepted the certificate and its chain ends at one of the authorities
 * of `ca` (PEM); a server that also accepts front proxies trusts further authorities, whose certificates prove no user here.
 */
export function clientCertificate(options: { readonly ca: string; readonly clock: Clock }): Authenticator {
  const authorities = (options.ca.match(PEM) ?? []).map((pem) => new X509Certificate(pem))
  // A connection has one certificate for its life; only its dates are looked at again.
  const known = new WeakMap<Socket, Proven | 'none'>()
  return async ({ socket }) => {
    let proven = known.get(socket)
    if (proven === undefined) {
      proven = prove(socket as TLSSocket, authorities) ?? 'none'
      known.set(socket, proven)
    }
    if (proven === 'none') return undefined
    const now = options.clock.now()
    return proven.from <= now && now <= proven.to ? proven.user : undefined
  }
}

function prove(socket: TLSSocket, authorities: readonly X509Certificate[]): Proven | undefined {
  if (socket.authorized !== true) return undefined
  const certificate = socket.getPeerX509Certificate()
  if (!certificate || !endsAt(certificate, authorities)) return undefined
  const subject = certificate.toLegacyObject().subject as unknown as Record<string, string | string[] | undefined>
  const name = asList(subject.CN).at(-1)
  if (!name) return undefined
  return {
    user: {
      name,
      groups: [...new Set([...asList(subject.O), AUTHENTICATED])],
      extra: { 'authentication.kubernetes.io/credential-id': [`X509SHA256=${createHash('sha256').update(certificate.raw).digest('hex')}`] },
    },
    from: certificate.validFromDate.getTime(),
    to: certificate.validToDate.getTime(),
  }
}

function asList(value: string | string[] | undefined): string[] {
  return value === undefined ? [] : Array.isArray(value) ? value : [value]
}

// Follows the issuers that the peer sent, each link by its signature, up to an authority.
function endsAt(certificate: X509Certificate, authorities: readonly X509Certificate[]): boolean {
  let current: X509Certificate | undefined = certificate
  for (let depth = 0; current && depth < LONGEST_CHAIN; depth++) {
    const link: X509Certificate = current
    if (authorities.some((authority) => isSignedBy(link, authority))) return true
    const next: X509Certificate | undefined = link.issuerCertificate
    if (!next?.ca || !isSignedBy(link, next)) return false
    current = next
  }
  return false
}

function isSignedBy(certificate: X509Certificate, issuer: X509Certificate): boolean {
  return certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey)
}
