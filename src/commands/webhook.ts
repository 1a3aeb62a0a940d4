/** `webhook`: the conversion webhook of the CustomResourceDefinition, which keeps nothing. */
import { readCertificate, watchCertificate } from '../../apiservice/certificate-files.ts'
import { serveTls } from '../../apiservice/serving.ts'
import { aborted } from '../base/aborted.ts'
import { systemClock } from '../base/clock.ts'
import { openLog } from '../base/log.ts'
import { openMetrics } from '../base/metrics.ts'
import { ConfigError, type Config } from '../config.ts'
import { checkConversions } from '../webhook/check-conversions.ts'
import { openConverter } from '../webhook/convert-object.ts'
import { createWebhook } from '../webhook/handler.ts'
import { chooseResources } from './choose-resources.ts'
import type { Output } from './show-progress.ts'

/** From the moment that readiness fails until connections are closed: so long kube-proxy may go on to send new ones. */
const DRAIN_MS = 5000
const GRACE_MS = 5000

type WebhookConfig = Pick<Config, 'bindAddress' | 'port' | 'tlsCertFile' | 'tlsPrivateKeyFile' | 'definitions' | 'lenses' | 'logLevel'>

/** Runs until the signal aborts. Rejects when the certificate, the port or a definition cannot be used, or a conversion does not keep what it must. */
export async function runWebhook(config: WebhookConfig, options: { readonly signal: AbortSignal; readonly out: Output; readonly drainMs?: number }): Promise<void> {
  const { signal, out, drainMs = DRAIN_MS } = options
  const { bindAddress, tlsCertFile, tlsPrivateKeyFile } = config
  const [clock, log] = [systemClock, openLog(config.logLevel)]
  if (!tlsCertFile || !tlsPrivateKeyFile) throw new ConfigError(['the webhook serves with a certificate: give --tls-cert-file and --tls-private-key-file'])
  const resources = await chooseResources(config, (line) => out.write(`${line}\n`))
  const convert = openConverter(resources)
  checkConversions(resources, convert)
  const files = { cert: tlsCertFile, key: tlsPrivateKeyFile }
  const pair = await readCertificate(files)
  const handler = createWebhook({ convert, stopping: signal, metrics: openMetrics({ process: true }), clock, log })
  const server = await serveTls({ ...pair, handler, host: bindAddress, port: config.port, clock, log })
  const { address, port } = server.address
  out.write(`mlops-apiserver converts ${resources.map(({ definition }) => definition.names.plural).join(', ')} on https://${address.includes(':') ? `[${address}]` : address}:${port}/convert\n`)
  const watching = watchCertificate(files, pair, { use: (next) => server.setCertificates(next), clock, log, signal })
  await aborted(signal)
  await watching
  await clock.sleep(drainMs)
  await server.close({ graceMs: GRACE_MS })
}
