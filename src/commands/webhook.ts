/** `webhook`: the conversion webhook of the CustomResourceDefinition, which keeps nothing. */
import { readCertificate, watchCertificate, type ServingCertificate } from '../../apiservice/certificate-files.ts'
import { openKubeClient } from '../../apiservice/kube-client.ts'
import { serveTls } from '../../apiservice/serving.ts'
import { qualifiedName } from '../api/resource.ts'
import { aborted } from '../base/aborted.ts'
import { systemClock, type Clock } from '../base/clock.ts'
import { openLog, type Log } from '../base/log.ts'
import { openMetrics } from '../base/metrics.ts'
import { ConfigError, type Config } from '../config.ts'
import type { ServedResource } from '../registry/resource-store.ts'
import { checkConversions } from '../webhook/check-conversions.ts'
import { openConverter } from '../webhook/convert-object.ts'
import { createWebhook } from '../webhook/handler.ts'
import { chooseResources } from './choose-resources.ts'
import { clusterAccess } from './cluster-access.ts'
import { programName } from './own-version.ts'
import type { Output } from './show-progress.ts'
import { firstCertificate, keepCertificate } from './webhook-certificate.ts'

/** From the moment that readiness fails until connections are closed: so long kube-proxy may go on to send new ones. */
const DRAIN_MS = 5000
const GRACE_MS = 5000

type WebhookConfig = Pick<
  Config, 'bindAddress' | 'port' | 'tlsCertFile' | 'tlsPrivateKeyFile' | 'cluster' | 'service' | 'certificateSecret' | 'definitions' | 'lenses' | 'logLevel'
>

/** What the webhook is run in. `environment` is that of the process, in which a pod finds its cluster. */
export interface WebhookSurroundings {
  readonly signal: AbortSignal
  readonly out: Output
  readonly environment: Readonly<Record<string, string | undefined>>
}

/** Runs until the signal aborts. Rejects when the certificate, the port or a definition cannot be used, or a conversion does not keep what it must. */
export async function runWebhook(config: WebhookConfig, options: WebhookSurroundings): Promise<void> {
  const { signal, out } = options
  const around = { clock: systemClock, log: openLog(config.logLevel) }
  const resources = await chooseResources(config, (line) => out.write(`${line}\n`))
  const convert = openConverter(resources)
  checkConversions(resources, convert)
  const certificate = await openCertificate(config, resources, { ...options, ...around }).catch((error: unknown) => {
    if (!signal.aborted) throw error
  })
  if (!certificate) return
  try {
    const handler = createWebhook({ convert, stopping: signal, metrics: openMetrics({ process: true }), ...around })
    const server = await serveTls({ ...certificate.first, handler, host: config.bindAddress, port: config.port, ...around })
    const { address, port } = server.address
    out.write(`mlops-apiserver converts ${resources.map(({ definition }) => definition.names.plural).join(', ')} on https://${address.includes(':') ? `[${address}]` : address}:${port}/convert\n`)
    const keeping = certificate.keep((next) => server.setCertificates(next))
    await aborted(signal)
    await keeping
    await around.clock.sleep(DRAIN_MS)
    await server.close({ graceMs: GRACE_MS })
  } finally {
    certificate.close()
  }
}

interface OpenedCertificate {
  readonly first: Pick<ServingCertificate, 'cert' | 'key'>
  /** Hands on each later one until the signal aborts. */
  keep(use: (certificate: Pick<ServingCertificate, 'cert' | 'key'>) => void): Promise<void>
  close(): void
}

async function openCertificate(config: WebhookConfig, resources: readonly ServedResource[], around: WebhookSurroundings & { readonly clock: Clock; readonly log: Log }): Promise<OpenedCertificate> {
  const { tlsCertFile: cert, tlsPrivateKeyFile: key, cluster, service, certificateSecret: secret } = config
  const { clock, log, signal, environment } = around
  if (cert && key) {
    const first = await readCertificate({ cert, key })
    return { first, keep: (use) => watchCertificate({ cert, key }, first, { use, clock, log, signal }), close() {} }
  }
  if (!cluster || !service || !secret) throw new ConfigError(['the webhook serves with a certificate: give --tls-cert-file and --tls-private-key-file, or --cluster, --service and --certificate-secret'])
  const client = openKubeClient({ access: await clusterAccess(cluster, environment), userAgent: programName(), clock })
  const definitions = resources.filter(({ conversion }) => !conversion.renamesOnly).map(({ definition }) => qualifiedName(definition))
  const options = { client, service, secret, definitions, clock, log }
  const first = await firstCertificate(options, signal)
  return { first, keep: (use) => keepCertificate(options, first, { use, signal }), close: () => client.close() }
}
