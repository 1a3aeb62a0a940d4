/** One attempt on this machine: clone, execute and report, each as processes of their own. */
import { copyFile, mkdir, rm, writeFile } from 'node:fs/promises'
import { isDeepStrictEqual } from 'node:util'
import { delimiter, join } from 'node:path'
import type { Clock } from '../base/clock.ts'
import { AttemptError } from './attempt-failure.ts'
import { type Checkout, clone, CLONE_LIMITS } from './clone.ts'
import { resolveNotebook } from './contained-file.ts'
import { type Credentials, NO_CREDENTIALS, readCredentials } from './credentials.ts'
import { execute } from './execute-step.ts'
import type { AttemptRequest, Observation } from './executor.ts'
import type { GitSource } from './git-source.ts'
import { type JobSpec, referenceOf } from './job.ts'
import { ATTEMPT_MARK, type Environment } from './process-group.ts'
import { makeReport } from './report-step.ts'

/** The `data` of a Secret, base64; undefined when there is no such Secret. */
export type SecretReader = (namespace: string, name: string) => Promise<Readonly<Record<string, string>> | undefined>

export interface LocalAttemptOptions {
  readonly request: AttemptRequest
  /** The attempt's own directory; it does not exist yet. */
  readonly directory: string
  /** Prepares the Python environment and returns its interpreter. */
  readonly preparePython: (onProgress: (message: string) => void) => Promise<string>
  readonly readSecret: SecretReader
  readonly environment: Environment
  readonly emit: (observation: Observation) => void
  readonly clock: Clock
  readonly signal: AbortSignal
}

/** The notebook is stopped so long before the job's deadline, for the report; at most a quarter of the time that is left. */
const REPORT_MARGIN_MS = 3_000

/** Runs the attempt and emits what happens, the report last. Throws what failureOf understands. */
export async function runLocalAttempt(options: LocalAttemptOptions): Promise<void> {
  const { request, directory, emit, clock, signal } = options
  const { spec } = request.job
  const python = await untilAborted(options.preparePython((message) => emit({ type: 'preparing', message })), signal)
  const startedAt = clock.now()
  // counted from the start that the status tells, in whole seconds
  const deadline = (request.startedAt ?? Math.floor(startedAt / 1000) * 1000) + Number(spec.activeDeadlineSeconds ?? 3600) * 1000
  emit({ type: 'cloning', at: startedAt })
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const source = await fetchSource(options, spec, deadline - startedAt)
  emit({ type: 'source', commit: source.commit, ...(source.goldenCommit === undefined ? {} : { goldenCommit: source.goldenCommit }) })
  const left = Math.max(0, deadline - clock.now())
  const failure = await execute({
    directory,
    python,
    spec,
    checkout: source.checkout,
    notebook: source.notebook,
    deadlineMs: left - Math.min(REPORT_MARGIN_MS, left / 4),
    environment: notebookEnvironment(options),
    onRecord: (record, bytes) => {
      if (record.type === 'notebook') {
        const { kernelName, language, nbformat } = record
        emit({ type: 'started', runtime: { kernelName, language, nbformat } })
      }
      emit({ type: 'record', record, bytes, at: clock.now() })
    },
    clock,
    signal,
  })
  emit({ type: 'comparing' })
  const environment = { PATH: options.environment.PATH, [ATTEMPT_MARK]: request.id }
  emit({ type: 'finished', report: await makeReport({ directory, spec, environment, clock, signal, ...(failure ? { failure } : {}) }) })
}

/** The preparation belongs to all attempts: one that is cancelled leaves it alone and goes. */
function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason as Error)
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}

/** What was cloned: the checkout and the notebook in it, as paths. */
export type Source = { readonly checkout: string; readonly notebook: string; readonly commit: string; readonly goldenCommit?: string }

/** What the clone step needs. `reference`: where the golden notebook and what was cloned are kept; default: `directory`. */
export type FetchOptions = Pick<LocalAttemptOptions, 'directory' | 'readSecret' | 'environment' | 'clock' | 'signal'> & {
  readonly reference?: string
  readonly request: { readonly id: string; readonly job: { readonly metadata: { readonly namespace?: string } } }
}

/** Clones, and keeps copies of both notebooks out of reach of the code that runs in the checkout. Throws AttemptError. */
export async function fetchSource(options: FetchOptions, spec: JobSpec, timeLeft: number): Promise<Source> {
  const { directory } = options
  const reference = options.reference ?? directory
  const timeoutMs = Math.max(1, Math.min(CLONE_LIMITS.timeoutMs, timeLeft))
  const checkout = await cloneInto(options, join(directory, 'source'), spec.notebook.git, timeoutMs)
  const notebook = await resolveNotebook(checkout.directory, spec.notebook.path, 'NotebookNotFound', checkout.commit)
  await copyFile(notebook, join(reference, 'notebook.ipynb'))
  let golden: Checkout | undefined
  if (spec.golden && referenceOf(spec) === 'Golden') {
    const same = !spec.golden.git || isDeepStrictEqual(spec.golden.git, spec.notebook.git)
    golden = same ? checkout : await cloneInto(options, join(reference, 'golden'), spec.golden.git!, timeoutMs)
    await copyFile(await resolveNotebook(golden.directory, spec.golden.path, 'GoldenNotFound', golden.commit), join(reference, 'golden.ipynb'))
  }
  const goldenCommit = golden ? { goldenCommit: golden.commit } : {}
  const files = { notebook: 'notebook.ipynb', ...(golden ? { golden: 'golden.ipynb' } : {}) }
  await writeFile(join(reference, 'source.json'), JSON.stringify({ commit: checkout.commit, ...goldenCommit, ...files }))
  return { checkout: checkout.directory, notebook, commit: checkout.commit, ...goldenCommit }
}

async function cloneInto(options: FetchOptions, directory: string, source: GitSource, timeoutMs: number): Promise<Checkout> {
  const { request, environment, clock, signal } = options
  const credentials = await credentialsOf(options, source)
  const checkout = await clone({ directory, source, credentials, limits: { ...CLONE_LIMITS, timeoutMs }, environment, mark: request.id, clock, signal })
  // nothing that runs later needs it
  await rm(join(directory, 'ca.crt'), { force: true })
  return checkout
}

async function credentialsOf(options: FetchOptions, source: GitSource): Promise<Credentials> {
  const name = source.credentialsSecretRef?.name
  if (!name) return NO_CREDENTIALS
  const namespace = options.request.job.metadata.namespace ?? ''
  const data = await options.readSecret(namespace, name)
  if (!data) throw new AttemptError('Final', 'CredentialsInvalid', `there is no Secret "${name}" in the namespace "${namespace}"`)
  return readCredentials(name, data)
}

/** What would change which Python packages a notebook sees, and what npm has set for this program. */
const REMOVED = /^(?:PYTHONHOME|PYTHONPATH|PYTHONSTARTUP|VIRTUAL_ENV|NODE|NODE_OPTIONS|INIT_CWD|npm_.*|MLOPS_.*)$/
/** Where npm puts the programs of packages before a script of theirs runs. */
const NPM_PROGRAMS = /[\\/]node_modules[\\/]\.bin[\\/]?$|[\\/]node-gyp-bin[\\/]?$/

/** The notebook runs as the user with the user's environment; the runner puts the kernel's own Python first on PATH. */
export function notebookEnvironment({ request, directory, environment }: Pick<LocalAttemptOptions, 'request' | 'directory' | 'environment'>): Environment {
  const kept = Object.entries(environment).filter(([name]) => !REMOVED.test(name))
  const path = environment.PATH?.split(delimiter).filter((entry) => !NPM_PROGRAMS.test(entry)).join(delimiter)
  return {
    LANG: 'C.UTF-8',
    ...Object.fromEntries(kept),
    ...(path === undefined ? {} : { PATH: path }),
    PYTHONUTF8: '1',
    JUPYTER_RUNTIME_DIR: join(directory, 'jupyter'),
    IPYTHONDIR: join(directory, 'ipython'),
    [ATTEMPT_MARK]: request.id,
  }
}
