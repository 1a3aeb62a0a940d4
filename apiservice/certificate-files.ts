/** The serving certificate from files that something else renews, such as cert-manager in a mounted Secret. upstream: apiserver/pkg/server/dynamiccertificates/dynamic_serving_content.go */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { Clock } from '../src/base/clock.ts'
import type { Log } from '../src/base/log.ts'

/** Paths of PEM files. */
export interface CertificateFiles {
  readonly cert: string
  readonly key: string
  /** Who signed it. */
  readonly ca?: string
}

/** Their contents. */
export interface ServingCertificate {
  readonly cert: string
  readonly key: string
  readonly ca?: string
}

// Files in a mounted Secret are replaced through links, which file events do not tell of everywhere.
const POLL_MS = 5000

/** Reads the files. Throws when one is missing, or the key is not of the certificate. */
export async function readCertificate(files: CertificateFiles): Promise<ServingCertificate> {
  const read = (path: string) => readFile(path, 'utf8')
  const [cert, key, ca] = await Promise.all([read(files.cert), read(files.key), files.ca === undefined ? undefined : read(files.ca)])
  if (!new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))) throw new Error(`${files.key} is not the key of the certificate in ${files.cert}`)
  return { cert, key, ...(ca === undefined ? {} : { ca }) }
}

/**
 * Looks at the files every few seconds until the signal aborts, and hands on what they say when it is something else than `current`, and whole. Half way
 * through a renewal the pair does not fit; the one in use goes on.
 */
export async function watchCertificate(
  files: CertificateFiles, current: ServingCertificate,
  { use, clock, log, signal }: { use(certificate: ServingCertificate): void; readonly clock: Clock; readonly log: Log; readonly signal: AbortSignal },
): Promise<void> {
  let seen = JSON.stringify(current)
  let complaint = ''
  while (!signal.aborted) {
    await clock.sleep(POLL_MS, signal).catch(() => {})
    if (signal.aborted) return
    try {
      const certificate = await readCertificate(files)
      const text = JSON.stringify(certificate)
      if (text !== seen) use(certificate)
      seen = text
      complaint = ''
    } catch (err) {
      const message = err instanceof Error ? err.message : String(err)
      if (message !== complaint) log.warn('the serving certificate cannot be read, and the one in use goes on', { err })
      complaint = message
    }
  }
}
