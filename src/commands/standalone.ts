/** `standalone`: everything on one machine, on loopback: store, API, worker, samples; and `serve`: the API alone. */
import { readFile, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { clientCertificate } from '../../apiservice/client-certificate.ts'
import { authorizeByRules } from '../../apiservice/rules.ts'
import { systemClock, type Clock } from '../base/clock.ts'
import { aborted } from '../base/aborted.ts'
import { openComplaint } from '../base/complaint.ts'
import { openLog, type Log } from '../base/log.ts'
import { makeDirectories } from '../base/make-directories.ts'
import { StatusError } from '../api/status.ts'
import { WORKER_KUBECONFIG, type Config } from '../config.ts'
import { create } from '../registry/create.ts'
import { internalWrite } from '../registry/write.ts'
import { collectGarbage } from '../registry/garbage-collector.ts'
import { emptyNamespaces } from '../registry/empty-namespaces.ts'
import { expireObjects } from '../registry/expire-objects.ts'
import { resources } from '../resources/index.ts'
import { coreResources } from '../resources/core/index.ts'
import type { ServedResource } from '../registry/resource-store.ts'
import { serveGitRepository } from '../server/git-repository.ts'
import { allowSelfReviews, serveSelfReviews } from '../server/self-reviews.ts'
import { openApiServer, type ApiServer } from './api-server.ts'
import { writeKubeconfig } from './kubeconfig.ts'
import { chooseResources } from './choose-resources.ts'
import { openBackend, type OpenedBackend } from './open-backend.ts'
import { ensurePki, type Pki } from './pki.ts'
import { couldNotRun, followSamples, sampleTable } from './run-samples.ts'
import { createSampleJobs, prepareSampleRepository, SAMPLES, SAMPLES_PATH } from './samples.ts'
import { kubectlGets, servedGroups } from './served-kinds.ts'
import { openProgress, type Output, type ProgressDisplay } from './show-progress.ts'
import { startWorkerProcess, type WorkerProcess } from './worker-process.ts'
import { WORKER_RULES, WORKER_USER } from './worker-rights.ts'

const HOST = '127.0.0.1'
const GRACE_MS = 5000
const CONTROLLER_PAUSE_MS = 10_000

/** Runs until the signal aborts, then stops cleanly. Throws when the data directory, the port or a definition cannot be used. */
export async function runStandalone(given: Config, options: { readonly signal: AbortSignal; readonly out: Output }): Promise<void> {
  const clock = systemClock
  const log = openLog(given.logLevel)
  const { signal, out } = options
  const served = await chooseResources(given, (text) => out.write(`${text}\n`))
  // The worker and the samples are made for the built-in definition only.
  const config = jobs && served.includes(jobs) ? given : { ...given, worker: false, samples: false }
  makeDataDirectory(config.dataDir)
  const opened = await openBackend(config, { clock, log })
  try {
    const pki = await ensurePki(config.pkiDir, { hosts: ['localhost', HOST, '::1'], clock })
    const server = await startServer(config, served, opened, pki, { clock, log })
    try {
      await serve(config, served, server, pki, { clock, log, signal, out })
    } finally {
      await server.close({ graceMs: GRACE_MS })
    }
  } finally {
    await opened.backend.close()
  }
}

/** The resource that the worker acts on. */
const jobs = resources.find(({ definition }) => definition.names.kind === 'NotebookValidationJob')

interface Surroundings {
  readonly clock: Clock
  readonly log: Log
}

function makeDataDirectory(directory: string): void {
  try {
    makeDirectories(directory)
  } catch (error) {
    throw new Error(`cannot make the data directory ${directory}: ${error instanceof Error ? error.message : String(error)}. Name another one with --data-dir`, { cause: error })
  }
}

async function startServer(config: Config, served: readonly ServedResource[], opened: OpenedBackend, pki: Pki, { clock, log }: Surroundings): Promise<ApiServer> {
  const repository = config.samples ? await prepareSampleRepository(config.dataDir) : undefined
  const authorize = allowSelfReviews(authorizeByRules(new Map([[WORKER_USER, WORKER_RULES]])))
  const server = await openApiServer({
    ...opened,
    resources: [...coreResources, ...served],
    certificates: { key: pki.server.key, cert: pki.server.cert, clientCa: pki.ca },
    authenticate: clientCertificate({ ca: pki.ca, clock }),
    authorize,
    virtual: [serveSelfReviews({ authorize, clock })],
    host: HOST,
    port: config.port,
    cacheBytes: config.cacheMegabytes * 1024 * 1024,
    ...(repository ? { open: [serveGitRepository(SAMPLES_PATH, repository)] } : {}),
    clock,
    log,
  })
  return server
}

async function serve(
  config: Config, served: readonly ServedResource[], server: ApiServer, pki: Pki, around: Surroundings & { readonly signal: AbortSignal; readonly out: Output },
): Promise<void> {
  const { signal, out } = around
  const kubeconfig = resolve(config.dataDir, 'kubeconfig')
  const workerKubeconfig = join(config.dataDir, WORKER_KUBECONFIG)
  await writeKubeconfig(kubeconfig, { server: server.url, ca: pki.ca, ...pki.admin, name: 'mlops-standalone' })
  await writeKubeconfig(workerKubeconfig, { server: server.url, ca: pki.ca, ...pki.worker, name: WORKER_USER })
  await ensureNamespace(server, 'default')
  const controllers = runControllers(server, around)
  out.write(`mlops-apiserver serves ${servedGroups(served)} on ${server.url}\nkubeconfig: ${kubeconfig}\n`)
  const progress = openProgress(out)
  const worker = config.worker ? startWorker(config, workerKubeconfig, progress, around) : undefined
  if (worker) out.write('Jobs run on this machine, as you: a notebook may do all that you may do.\n')
  try {
    if (config.samples) await showSamples(config, server, pki, worker, progress, around)
    if (!signal.aborted) {
      const describe = config.samples ? [`describe nvj ${SAMPLES[1]?.name}`] : []
      const next = [...kubectlGets(served, resources), ...describe].map((words) => `  kubectl --kubeconfig ${kubeconfig} ${words}\n`)
      out.write(`\nServing; Ctrl-C ends. Type next:\n${next.join('')}`)
    }
    await aborted(signal)
    out.write('\nstopping\n')
  } finally {
    progress.stop()
    await worker?.stop(GRACE_MS)
    await controllers
  }
}

async function ensureNamespace(server: ApiServer, name: string): Promise<void> {
  const store = server.store('Namespace')
  if (store.cache.get(name)) return
  try {
    await create(store, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } }, internalWrite(store, ''))
  } catch (error) {
    if (!(error instanceof StatusError) || error.reason !== 'AlreadyExists') throw error
  }
}

function runControllers(server: ApiServer, around: Surroundings & { readonly signal: AbortSignal }): Promise<unknown> {
  const namespaces = server.store('Namespace')
  const namespaced = server.stores.filter(({ definition }) => definition.scope === 'Namespaced')
  return Promise.all([
    keepRunning(() => collectGarbage(server.stores, around), around),
    keepRunning(() => emptyNamespaces(namespaces, namespaced, around), around),
    ...server.stores.filter(({ strategy }) => strategy.expire).map((store) => keepRunning(() => expireObjects(store, around), around)),
  ])
}

// A controller may stop at an object that cannot be decoded. It begins anew until that is repaired.
async function keepRunning(controller: () => Promise<unknown>, { clock, log, signal }: Surroundings & { readonly signal: AbortSignal }): Promise<void> {
  const complaint = openComplaint(log, 'a controller has stopped, and begins anew until it can go on')
  while (!signal.aborted) {
    await controller().catch(complaint.failed)
    if (!signal.aborted) await clock.sleep(CONTROLLER_PAUSE_MS, signal).catch(() => {})
  }
}

function startWorker(config: Config, kubeconfig: string, progress: ProgressDisplay, { clock, log }: Surroundings): WorkerProcess {
  return startWorkerProcess({
    args: ['--kubeconfig', kubeconfig, '--data-dir', config.dataDir, '--concurrency', String(config.concurrency), '--python', config.python, '--log-level', config.logLevel],
    onProgress: ({ stage, message = '', done = 0, total = 1 }) => {
      if (stage === 'python') progress.update('Python', { done, total, message })
    },
    clock,
    log,
  })
}

// The samples are made, and run, once in the life of a data directory: who deletes them does not want them back.
async function showSamples(
  config: Config, server: ApiServer, pki: Pki, worker: WorkerProcess | undefined, progress: ProgressDisplay, around: Surroundings & { readonly signal: AbortSignal; readonly out: Output },
): Promise<void> {
  const mark = join(config.dataDir, 'samples.created')
  if ((await readFile(mark, 'utf8').catch(() => '')) !== '') return
  const jobs = server.store('NotebookValidationJob')
  await createSampleJobs({ secrets: server.store('Secret'), jobs }, { url: server.url, ca: pki.ca })
  const done = () => writeFile(mark, `${new Date(around.clock.now()).toISOString()}\n`)
  if (!worker) return await done()
  around.out.write('\nRunning the sample jobs:\n')
  const finished = await followSamples(jobs, progress, around.signal)
  progress.stop()
  if (!finished) return
  // Where nothing could run (no Python, a full disk) the next start tries again.
  if (!couldNotRun(jobs)) await done()
  around.out.write(`\n${sampleTable(jobs, around.clock)}\n`)
}
