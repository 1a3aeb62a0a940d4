/** `serve --cluster`: the API of a cluster, aggregated. Who calls, whether they may and which namespaces there are, its kube-apiserver tells. */
import { accessReview } from '../../apiservice/access-review.ts'
import type { ServingCertificate } from '../../apiservice/certificate-files.ts'
import { delegateAuthentication } from '../../apiservice/delegated-authentication.ts'
import { KubeStatusError, KubeUnreachable, openKubeClient, type KubeClient } from '../../apiservice/kube-client.ts'
import { followNamespaces } from '../../apiservice/namespaces.ts'
import { keepRegistered, refuseDefinitions, type Registration } from '../../apiservice/register.ts'
import { apiServices, type ApiService, type ServedGroup } from '../../apiservice/registration.ts'
import { qualifiedName, type ResourceDefinition } from '../api/resource.ts'
import { oldestFirst } from '../api/version-order.ts'
import { aborted } from '../base/aborted.ts'
import { systemClock, type Clock } from '../base/clock.ts'
import { openLog, type Log } from '../base/log.ts'
import { makeDirectories } from '../base/make-directories.ts'
import type { Config } from '../config.ts'
import type { ServedResource } from '../registry/resource-store.ts'
import { sweepNamespaces } from '../registry/sweep-namespaces.ts'
import { ADMIN_DEFINITIONS } from '../server/admin/definitions.ts'
import { openApiServer, type ApiServer } from './api-server.ts'
import { certificateSource, type CertificateSource } from './certificate-source.ts'
import { chooseResources } from './choose-resources.ts'
import { clusterAccess } from './cluster-access.ts'
import { openBackend } from './open-backend.ts'
import { programName } from './own-version.ts'
import type { Output } from './show-progress.ts'

const GRACE_MS = 10_000
const REGISTER_MS = 60_000
const RETRY_MS = 5000

interface Surroundings {
  readonly client: KubeClient
  readonly clock: Clock
  readonly log: Log
  readonly signal: AbortSignal
}

/**
 * Runs until the signal aborts, then serves on for the time of the setting and stops. Rejects when the settings, the certificate or the store cannot be used, and
 * when the cluster has a CustomResourceDefinition of a resource that is served here. Waits for a kube-apiserver that is away.
 */
export async function runServeCluster(
  config: Config, options: { readonly signal: AbortSignal; readonly out: Output; readonly environment: Readonly<Record<string, string | undefined>> },
): Promise<void> {
  const { signal, out } = options
  const clock = systemClock
  const log = openLog(config.logLevel)
  const client = openKubeClient({ access: await clusterAccess(config.cluster, options.environment), userAgent: programName(), clock })
  const around = { client, clock, log, signal }
  const source = certificateSource(config, around)
  const resources = await chooseResources(config, (text) => out.write(`${text}\n`))
  const names = resources.map(({ definition }) => qualifiedName(definition))
  try {
    const certificate = await untilAnswered(() => source.read(), around)
    await untilAnswered(() => refuseDefinitions(client, names), around)
    if (!certificate || signal.aborted) return
    makeDirectories(config.dataDir)
    const opened = await openBackend(config, around)
    try {
      await serve(config, { resources, source, certificate, opened, out, ...around })
    } finally {
      await opened.backend.close()
    }
  } finally {
    client.close()
  }
}

interface Serving extends Surroundings {
  readonly resources: readonly ServedResource[]
  readonly source: CertificateSource
  readonly certificate: ServingCertificate
  readonly opened: Awaited<ReturnType<typeof openBackend>>
  readonly out: Output
}

async function serve(config: Config, { resources, source, certificate, opened, out, ...around }: Serving): Promise<void> {
  const { client, clock, log, signal } = around
  // What follows kube-apiserver goes on while this server still answers.
  const ended = new AbortController()
  let current = certificate
  let server: ApiServer | undefined
  const certificates = () => ({ key: current.key, cert: current.cert, clientCa: authentication.clientCa() })
  const following = { ...around, signal: ended.signal }
  const authentication = delegateAuthentication({ ...following, onClientCa: () => server?.setCertificates(certificates()) })
  const namespaces = followNamespaces(following)
  try {
    await Promise.race([Promise.all([authentication.synced, namespaces.synced]), aborted(signal)])
    if (signal.aborted) return
    server = await openApiServer({
      ...opened,
      resources,
      namespaces: namespaces.find,
      certificates: certificates(),
      authenticate: authentication.authenticate,
      authorize: accessReview({ client, clock }),
      host: config.bindAddress,
      port: config.port,
      cacheBytes: config.cacheMegabytes * 1024 * 1024,
      clock,
      log,
    })
    // They may have changed while the stores were opened.
    server.setCertificates(certificates())
    const registration = startRegistration(config, resources, () => current, around)
    const use = (next: ServingCertificate): void => {
      current = next
      server?.setCertificates(certificates())
      registration?.renew()
    }
    const watching = source.watch(current, use, signal)
    const sweeping = sweepNamespaces(server.stores, namespaces.find, around)
    out.write(`mlops-apiserver serves ${resources.map(({ definition }) => qualifiedName(definition)).join(', ')} on ${server.url}\n`)
    await aborted(signal)
    out.write(`stopping, after ${config.shutdownDelaySeconds} s more of serving\n`)
    await Promise.all([server.close({ graceMs: GRACE_MS, drainMs: config.shutdownDelaySeconds * 1000 }), watching, sweeping, registration?.ended])
  } finally {
    ended.abort()
  }
}

// Keeps the APIServices right, for the Service that the settings name, if any.
function startRegistration(
  { service }: Pick<Config, 'service'>, resources: readonly ServedResource[], certificate: () => ServingCertificate, around: Surroundings,
): Registration | undefined {
  if (!service) return undefined
  const definitions = resources.map(({ definition }) => definition)
  const groups = servedGroups([...definitions, ...Object.values(ADMIN_DEFINITIONS)])
  const wanted = (): ApiService[] => {
    const { ca } = certificate()
    return apiServices(groups, { service, ...(ca === undefined ? {} : { ca }) })
  }
  return keepRegistered(wanted, { ...around, everyMs: REGISTER_MS, check: () => refuseDefinitions(around.client, definitions.map(qualifiedName)) })
}

/** The groups of the definitions with their served versions, the newest first. */
export function servedGroups(definitions: readonly ResourceDefinition[]): ServedGroup[] {
  const groups = new Map<string, Set<string>>()
  for (const { group, versions } of definitions) {
    const served = groups.get(group) ?? new Set()
    for (const { name } of versions.filter((version) => version.served)) served.add(name)
    groups.set(group, served)
  }
  return [...groups].map(([group, versions]) => ({ group, versions: oldestFirst([...versions]).reverse() }))
}

// A kube-apiserver that is away, or that does not let us yet, will be asked again; what is wrong with what it says, or here, is final. Undefined when the signal has aborted.
async function untilAnswered<T>(ask: () => Promise<T>, { clock, log, signal }: Surroundings): Promise<T | undefined> {
  while (!signal.aborted) {
    try {
      return await ask()
    } catch (err) {
      if (!(err instanceof KubeStatusError || err instanceof KubeUnreachable)) throw err
      log.warn('kube-apiserver does not answer, and is asked again', { err })
      await clock.sleep(RETRY_MS, signal).catch(() => {})
    }
  }
  return undefined
}
