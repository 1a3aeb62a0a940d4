/** Where the serving certificate of a server of a cluster comes from: files that something renews, or a Secret in which the replicas keep one of their own. */
import { readCertificate, watchCertificate, type ServingCertificate } from '../../apiservice/certificate-files.ts'
import type { KubeClient } from '../../apiservice/kube-client.ts'
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { ConfigError, type Config } from '../config.ts'
import { refreshServing } from './webhook-certificate.ts'

/** A source. `ca` of a certificate is there when the source knows who signed it. */
export interface CertificateSource {
  read(): Promise<ServingCertificate>
  /** Hands on each later certificate than `current` until the signal aborts. */
  watch(current: ServingCertificate, use: (certificate: ServingCertificate) => void, signal: AbortSignal): Promise<void>
}

const LOOK_MS = 60_000

/** The source that the settings name. Throws ConfigError when they name none. */
export function certificateSource(
  { tlsCertFile: cert, tlsPrivateKeyFile: key, tlsCaFile: ca, service, certificateSecret: secret }: Config,
  { client, clock, log }: { readonly client: KubeClient; readonly clock: Clock; readonly log: Log },
): CertificateSource {
  if (cert && key) {
    const files = { cert, key, ...(ca === '' ? {} : { ca }) }
    return { read: () => readCertificate(files), watch: (current, use, signal) => watchCertificate(files, current, { use, clock, log, signal }) }
  }
  if (!service || !secret) throw new ConfigError(['a server of a cluster serves with a certificate: give --tls-cert-file and --tls-private-key-file, or --service and --certificate-secret'])
  const read = async (): Promise<ServingCertificate> => {
    const pki = await refreshServing({ client, service, secret, clock })
    return { ...pki.server, ca: pki.ca.cert }
  }
  return { read, watch: (current, use, signal) => lookAgain(read, current, use, { clock, log, signal }) }
}

async function lookAgain(
  read: () => Promise<ServingCertificate>, current: ServingCertificate, use: (certificate: ServingCertificate) => void,
  { clock, log, signal }: { readonly clock: Clock; readonly log: Log; readonly signal: AbortSignal },
): Promise<void> {
  let { cert } = current
  while (!signal.aborted) {
    await clock.sleep(LOOK_MS, signal).catch(() => {})
    if (signal.aborted) return
    try {
      const certificate = await read()
      if (certificate.cert !== cert) use(certificate)
      cert = certificate.cert
    } catch (err) {
      log.warn('the certificate cannot be kept; the one in use goes on', { err })
    }
  }
}
