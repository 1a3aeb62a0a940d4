/**
 * Who a client certificate says its owner is.
 * upstream: apiserver/pkg/authentication/request/x509/x509.go: Authenticator, CommonNameUserConversion
 */
import { createHash, type X509Certificate } from 'node:crypto'
import type { Socket } from 'node:net'
import type { Clock } from '../src/base/clock.ts'
import { AUTHENTICATED, type Authenticator, type User } from './auth.ts'
import { isValidAt, parseAuthorities, peerCertificate, subjectValues } from './peer-certificate.ts'

interface Proven {
  readonly user: User
  readonly certificate: X509Certificate
}

/**
 * Authenticates by the client certificate of the connection, over HTTP/1.1 and HTTP/2: the common name is the user, every
 * organization a group. Counts only when TLS has accepted the certificate and its chain ends at one of the authorities
 * of `ca` (PEM); a server that also accepts front proxies trusts further authorities, whose certificates prove no user here.
 */
export function clientCertificate(options: { readonly ca: string; readonly clock: Clock }): Authenticator {
  const authorities = parseAuthorities(options.ca)
  // A connection has one certificate for its life; only its dates are looked at again.
  const known = new WeakMap<Socket, Proven | 'none'>()
  return async ({ socket }) => {
    let proven = known.get(socket)
    if (proven === undefined) {
      proven = prove(peerCertificate(socket, authorities)) ?? 'none'
      known.set(socket, proven)
    }
    return proven !== 'none' && isValidAt(proven.certificate, options.clock.now()) ? proven.user : undefined
  }
}

function prove(certificate: X509Certificate | undefined): Proven | undefined {
  const name = certificate && subjectValues(certificate, 'CN').at(-1)
  if (!certificate || !name) return undefined
  const user = {
    name,
    groups: [...new Set([...subjectValues(certificate, 'O'), AUTHENTICATED])],
    extra: { 'authentication.kubernetes.io/credential-id': [`X509SHA256=${createHash('sha256').update(certificate.raw).digest('hex')}`] },
  }
  return { user, certificate }
}
