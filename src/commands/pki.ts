/**
 * The certificates of a standalone server: an own authority, the server's certificate and two client certificates.
 * They are made on the first start and read on every later one; x509 is loaded only when something has to be made.
 */
import { createPrivateKey, X509Certificate, type webcrypto } from 'node:crypto'
import { chmod, mkdir, open, readFile, rename } from 'node:fs/promises'
import { isIP } from 'node:net'
import { join } from 'node:path'
import { SYSTEM_MASTERS } from '../../apiservice/auth.ts'
import type { Clock } from '../base/clock.ts'
import { WORKER_USER } from './worker-rights.ts'

/** A certificate and its private key, PEM. */
export interface KeyPair {
  readonly cert: string
  readonly key: string
}

/** All certificates. `ca` is the authority's certificate, which signs the others. */
export interface Pki {
  readonly ca: string
  readonly server: KeyPair
  /** Client certificate of a person: CN=mlops-admin, O=system:masters. */
  readonly admin: KeyPair
  /** Client certificate of the worker: CN=mlops-worker. */
  readonly worker: KeyPair
}

const DAY = 86_400_000
const CA_DAYS = 3650
const LEAF_DAYS = 365
// A certificate with less time left is made anew.
const RENEW_DAYS = 30
const BACKDATE = 5 * 60_000

const LEAVES = {
  server: { name: 'CN=mlops-apiserver', usage: 'serverAuth' },
  admin: { name: `CN=mlops-admin, O=${SYSTEM_MASTERS}`, usage: 'clientAuth' },
  worker: { name: `CN=${WORKER_USER}`, usage: 'clientAuth' },
} as const
type Leaf = keyof typeof LEAVES

/**
 * Reads the certificates in `directory`, after making those that are missing, near their end, not of this authority, of another name than today's
 * or, for the server, without one of `hosts` (names and addresses). The directory gets mode 0700, the files 0600. May be called again while
 * the server runs, to renew. Throws when the directory cannot be written or the authority cannot be read.
 */
export async function ensurePki(directory: string, options: { readonly hosts: readonly string[]; readonly clock: Clock }): Promise<Pki> {
  const { clock, hosts } = options
  await mkdir(directory, { recursive: true, mode: 0o700 })
  await chmod(directory, 0o700)
  let ca = await readCa(directory, clock)
  const found: Partial<Record<Leaf, KeyPair>> = {}
  const missing: Leaf[] = []
  for (const leaf of Object.keys(LEAVES) as Leaf[]) {
    const pair = ca && (await readPair(directory, leaf))
    if (pair && ca && isUsable(pair, ca.cert, leaf, leaf === 'server' ? hosts : [], clock)) found[leaf] = pair
    else missing.push(leaf)
  }
  if (missing.length > 0) {
    const issue = await openIssuer(clock)
    // Without its key the authority can sign nothing more: a new one replaces it, and all that it signed.
    if (!ca?.key) {
      ca = await issue.authority()
      missing.splice(0, missing.length, ...(Object.keys(LEAVES) as Leaf[]))
      await writePair(directory, 'ca', ca)
    }
    for (const leaf of missing) {
      const pair = await issue.leaf(ca, leaf, leaf === 'server' ? hosts : [])
      await writePair(directory, leaf, pair)
      found[leaf] = pair
    }
  }
  const { server, admin, worker } = found
  if (!ca || !server || !admin || !worker) throw new Error(`the certificates in ${directory} are not complete`)
  return { ca: ca.cert, server, admin, worker }
}

/** An authority with its key, and the serving certificate that it has signed. */
export interface ServingPki {
  readonly ca: KeyPair
  readonly server: KeyPair
}

/** The same certificates while they can be used for `hosts` (names and addresses), else new ones; the authority is kept as long as it lasts. For who keeps them elsewhere than in files. */
export async function renewServing(current: ServingPki | undefined, options: { readonly hosts: readonly string[]; readonly clock: Clock }): Promise<ServingPki> {
  const { hosts, clock } = options
  const ca = current && isAuthority(current.ca, clock) ? current.ca : undefined
  if (current && ca && isUsable(current.server, ca.cert, 'server', hosts, clock)) return current
  const issue = await openIssuer(clock)
  const authority = ca ?? (await issue.authority())
  return { ca: authority, server: await issue.leaf(authority, 'server', hosts) }
}

function isAuthority({ cert, key }: KeyPair, clock: Clock): boolean {
  try {
    const certificate = new X509Certificate(cert)
    return certificate.ca && isCurrent(certificate, clock) && certificate.checkPrivateKey(createPrivateKey(key))
  } catch {
    return false
  }
}

// The authority; its key is empty when only the certificate is there. Absent, or at its end: undefined.
async function readCa(directory: string, clock: Clock): Promise<KeyPair | undefined> {
  const cert = await readIfThere(join(directory, 'ca.crt'))
  if (cert === undefined) return undefined
  const key = (await readIfThere(join(directory, 'ca.key'))) ?? ''
  try {
    const certificate = new X509Certificate(cert)
    if (key !== '' && !certificate.checkPrivateKey(createPrivateKey(key))) throw new Error('its key in ca.key is of another certificate')
    return isCurrent(certificate, clock) ? { cert, key } : undefined
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new Error(`cannot read the certificate authority ${join(directory, 'ca.crt')}: ${why}. Restore it, or remove ${directory} to have new certificates made`, {
      cause: error,
    })
  }
}

async function readPair(directory: string, name: string): Promise<KeyPair | undefined> {
  const cert = await readIfThere(join(directory, `${name}.crt`))
  const key = await readIfThere(join(directory, `${name}.key`))
  return cert === undefined || key === undefined ? undefined : { cert, key }
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

function isUsable(pair: KeyPair, ca: string, leaf: Leaf, hosts: readonly string[], clock: Clock): boolean {
  try {
    const certificate = new X509Certificate(pair.cert)
    const authority = new X509Certificate(ca)
    return (
      isCurrent(certificate, clock) &&
      isOf(certificate, leaf) &&
      certificate.checkIssued(authority) &&
      certificate.verify(authority.publicKey) &&
      certificate.checkPrivateKey(createPrivateKey(pair.key)) &&
      hosts.every((host) => (isIP(host) ? certificate.checkIP(host) : certificate.checkHost(host)) !== undefined)
    )
  } catch {
    return false
  }
}

// What a name says of groups are rights: those of an earlier release may be too many.
function isOf({ subject }: X509Certificate, leaf: Leaf): boolean {
  return subject.split('\n').sort().join(', ') === LEAVES[leaf].name
}

function isCurrent(certificate: X509Certificate, clock: Clock): boolean {
  const now = clock.now()
  return certificate.validFromDate.getTime() <= now && certificate.validToDate.getTime() > now + RENEW_DAYS * DAY
}

// The key first: a certificate without its key would look whole.
async function writePair(directory: string, name: string, pair: KeyPair): Promise<void> {
  await writeSecret(join(directory, `${name}.key`), pair.key)
  await writeSecret(join(directory, `${name}.crt`), pair.cert)
}

/** Writes a file that only its owner may read, whole or not at all. */
export async function writeSecret(path: string, text: string): Promise<void> {
  const temporary = `${path}.tmp`
  const file = await open(temporary, 'w', 0o600)
  try {
    await file.chmod(0o600)
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(temporary, path)
}

interface Issuer {
  authority(): Promise<KeyPair>
  leaf(ca: KeyPair, leaf: Leaf, hosts: readonly string[]): Promise<KeyPair>
}

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const

async function openIssuer(clock: Clock): Promise<Issuer> {
  await import('reflect-metadata')
  const x509 = await import('@peculiar/x509')
  const dates = (days: number) => ({ notBefore: new Date(clock.now() - BACKDATE), notAfter: new Date(clock.now() + days * DAY) })
  // 16 bytes, positive and without a leading zero byte, as RFC 5280 wants them.
  const serialNumber = () => Buffer.from(clock.bytes(16).map((byte, i) => (i === 0 ? (byte & 0x3f) | 0x40 : byte))).toString('hex')
  const makeKeys = () => crypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])
  const exportKey = async (key: webcrypto.CryptoKey) => x509.PemConverter.encode(await crypto.subtle.exportKey('pkcs8', key), 'PRIVATE KEY') + '\n'
  return {
    async authority() {
      const keys = await makeKeys()
      const cert = await x509.X509CertificateGenerator.createSelfSigned({
        serialNumber: serialNumber(),
        name: `CN=mlops-apiserver-ca-${Math.floor(clock.now() / 1000)}`,
        ...dates(CA_DAYS),
        keys,
        signingAlgorithm: ALGORITHM,
        extensions: [
          new x509.BasicConstraintsExtension(true, undefined, true),
          new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign | x509.KeyUsageFlags.digitalSignature, true),
          await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
        ],
      })
      return { cert: `${cert.toString('pem')}\n`, key: await exportKey(keys.privateKey) }
    },
    async leaf(ca, leaf, hosts) {
      const issuer = new x509.X509Certificate(ca.cert)
      const der = createPrivateKey(ca.key).export({ type: 'pkcs8', format: 'der' })
      const signingKey = await crypto.subtle.importKey('pkcs8', new Uint8Array(der), ALGORITHM, false, ['sign'])
      const keys = await makeKeys()
      const names = hosts.map((value) => ({ type: isIP(value) ? ('ip' as const) : ('dns' as const), value }))
      const cert = await x509.X509CertificateGenerator.create({
        serialNumber: serialNumber(),
        subject: LEAVES[leaf].name,
        issuer: issuer.subject,
        ...dates(LEAF_DAYS),
        publicKey: keys.publicKey,
        signingKey,
        signingAlgorithm: ALGORITHM,
        extensions: [
          new x509.BasicConstraintsExtension(false, undefined, true),
          new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
          new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage[LEAVES[leaf].usage]]),
          await x509.AuthorityKeyIdentifierExtension.create(issuer),
          ...(names.length > 0 ? [new x509.SubjectAlternativeNameExtension(names)] : []),
        ],
      })
      return { cert: `${cert.toString('pem')}\n`, key: await exportKey(keys.privateKey) }
    },
  }
}
