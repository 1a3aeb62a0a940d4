/** The certificate that the other end of a connection has shown, and whose authority it is of. */
import { X509Certificate } from 'node:crypto'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'

const PEM = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g
const LONGEST_CHAIN = 8

/** The certificates of a PEM bundle. Throws for one that cannot be read. */
export function parseAuthorities(bundle: string): readonly X509Certificate[] {
  return (bundle.match(PEM) ?? []).map((pem) => new X509Certificate(pem))
}

/**
 * The peer's certificate, when TLS has accepted it and its chain ends at one of `authorities`: a listener that trusts several authorities for
 * different purposes must ask again for each.
 */
export function peerCertificate(socket: Socket, authorities: readonly X509Certificate[]): X509Certificate | undefined {
  const { authorized, getPeerX509Certificate } = socket as TLSSocket
  if (authorized !== true) return undefined
  const certificate = getPeerX509Certificate.call(socket)
  return certificate && endsAt(certificate, authorities) ? certificate : undefined
}

/** The values of one attribute of its subject, in order: `CN`, `O`. */
export function subjectValues(certificate: X509Certificate, attribute: string): string[] {
  const subject = certificate.toLegacyObject().subject as unknown as Record<string, string | string[] | undefined>
  const value = subject[attribute]
  return value === undefined ? [] : Array.isArray(value) ? value : [value]
}

/** Whether it is valid at a time, in milliseconds since the epoch. */
export function isValidAt(certificate: X509Certificate, now: number): boolean {
  return certificate.validFromDate.getTime() <= now && now <= certificate.validToDate.getTime()
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
