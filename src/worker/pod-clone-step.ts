/** The container clone of a pod: fetches the sources, brings the runner, and says in one line what became of it. */
import { copyFile, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Clock } from '../base/clock.ts'
import { type AttemptFailure, failureOf } from './attempt-failure.ts'
import { runnerSettings } from './execute-step.ts'
import { fetchSource, type SecretReader } from './local-attempt.ts'
import type { AttemptInput } from './pod-manifest.ts'
import type { Environment } from './process-group.ts'

export interface PodCloneOptions {
  readonly input: AttemptInput
  /** Where the volumes are: what the notebook may write, what it may not see, and a folder for each Secret. */
  readonly work: string
  readonly reference: string
  readonly secrets: string
  readonly environment: Environment
  readonly clock: Clock
  readonly signal: AbortSignal
}

/** What the worker reads from the container's termination message. */
export type CloneResult =
  | { readonly source: { readonly commit: string; readonly goldenCommit?: string } }
  | { readonly failure: AttemptFailure }

const RUNNER = fileURLToPath(new URL('./runner/', import.meta.url))
/** A termination message holds 4 KiB. */
const MAX_MESSAGE = 2_000

/** Fetches everything that the other containers need. Never throws. */
export async function runPodClone(options: PodCloneOptions): Promise<CloneResult> {
  try {
    return { source: await prepare(options) }
  } catch (error) {
    const { message, ...failure } = failureOf(error)
    return { failure: { ...failure, message: message.slice(0, MAX_MESSAGE) } }
  }
}

async function prepare(options: PodCloneOptions): Promise<{ commit: string; goldenCommit?: string }> {
  const { input, work, reference, clock } = options
  const { spec } = input
  const now = clock.now()
  // counted from the start that the status tells, in whole seconds
  const deadline = (input.startedAt ?? Math.floor(now / 1000) * 1000) + Number(spec.activeDeadlineSeconds ?? 3600) * 1000
  const request = { id: input.id, job: { metadata: { namespace: input.namespace } } }
  const source = await fetchSource({ ...options, directory: work, reference, request, readSecret: secretReader(options.secrets) }, spec, deadline - now)
  await Promise.all(['home', 'jupyter', 'ipython', 'runner'].map((name) => mkdir(join(work, name), { recursive: true, mode: 0o700 })))
  for (const name of await readdir(RUNNER)) if (name.endsWith('.py')) await copyFile(join(RUNNER, name), join(work, 'runner', name))
  // there, and empty, where the image cannot even begin: what it says of that is then believed
  await writeFile(join(work, 'records.ndjson'), '')
  await writeFile(join(work, 'runner.json'), JSON.stringify(runnerSettings({ spec, checkout: source.checkout, notebook: source.notebook, deadlineMs: deadline - now })))
  await writeFile(join(work, 'pod.json'), JSON.stringify({ deadlineAt: deadline / 1000 }))
  await writeFile(join(reference, 'job.json'), JSON.stringify({ spec }))
  await writeFile(join(reference, 'pod.json'), JSON.stringify({ deadlineAt: deadline / 1000 }))
  return { commit: source.commit, ...(source.goldenCommit === undefined ? {} : { goldenCommit: source.goldenCommit }) }
}

/** Secrets as a kubelet mounts them: a file for each key, none where there is no such Secret. */
function secretReader(directory: string): SecretReader {
  return async (_namespace, name) => {
    const keys = await readdir(join(directory, name)).catch(() => [])
    // a kubelet's own entries begin with two dots
    const entries = keys.filter((key) => !key.startsWith('..')).map(async (key) => [key, (await readFile(join(directory, name, key))).toString('base64')] as const)
    const data = Object.fromEntries(await Promise.all(entries))
    return Object.keys(data).length === 0 ? undefined : data
  }
}
