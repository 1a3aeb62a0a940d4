/** The sample jobs of a first start: a git repository of the shipped notebooks, a Secret with the server's CA, three jobs. */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { cp, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { isObject, type KubeObject } from '../api/object.ts'
import { StatusError } from '../api/status.ts'
import { receive } from '../api/receive.ts'
import { create } from '../registry/create.ts'
import { remove } from '../registry/delete.ts'
import { requestVersion, type ResourceStore } from '../registry/resource-store.ts'
import { internalWrite } from '../registry/write.ts'

const run = promisify(execFile)

/** The path under which the repository is served. */
export const SAMPLES_PATH = '/samples.git'
/** Holds the CA of the server under `ca.crt`, so that git can check the server's certificate. */
const SECRET = 'samples-ca'

/** A sample job: a notebook of deploy/samples, and its golden copy where it has one. */
export interface Sample {
  readonly name: string
  readonly notebook: string
  readonly golden?: string
  /** The reason with which it ends when all is well. */
  readonly ends: string
}

/** The three samples: one that passes, one whose output differs from its golden copy, one that raises. */
export const SAMPLES: readonly Sample[] = [
  { name: 'sample-passes', notebook: 'passes.ipynb', golden: 'golden/passes.ipynb', ends: 'Validated' },
  { name: 'sample-differs', notebook: 'differs.ipynb', golden: 'golden/differs.ipynb', ends: 'OutputMismatch' },
  { name: 'sample-raises', notebook: 'raises.ipynb', ends: 'NotebookFailed' },
]

// deploy/ lies beside src/ in a checkout and beside the built src/ in a package.
const SOURCE = join(import.meta.dirname, '..', '..', 'deploy', 'samples')

// The same commit for the same files, whoever makes it.
const AUTHOR = [
  '-c', 'user.name=mlops-apiserver', '-c', 'user.email=samples@mlops.dev', '-c', 'commit.gpgsign=false', '-c', 'core.hooksPath=/dev/null', '-c', 'init.defaultBranch=main',
]
const DATE = '2026-01-01T00:00:00Z'

/** Makes the bare repository in `directory`/samples.git unless it is there with these very notebooks; returns its path. */
export async function prepareSampleRepository(directory: string): Promise<string> {
  const bare = join(directory, 'samples.git')
  const digest = await digestOf(SOURCE)
  const mark = join(bare, 'samples.digest')
  if (existsSync(mark) && (await readFile(mark, 'utf8')) === digest) return bare
  const tree = join(directory, 'samples.tree')
  await rm(tree, { recursive: true, force: true })
  await mkdir(tree, { recursive: true })
  await cp(SOURCE, tree, { recursive: true })
  const git = (...args: string[]) => runGit(args, tree)
  await git('init', '--quiet')
  await git('add', '--all')
  await git('commit', '--quiet', '--no-verify', '--date', DATE, '--message', 'Sample notebooks')
  await rm(bare, { recursive: true, force: true })
  const fresh = `${bare}.tmp`
  await rm(fresh, { recursive: true, force: true })
  await runGit(['clone', '--quiet', '--bare', tree, fresh], tree)
  await writeFile(join(fresh, 'samples.digest'), digest)
  await rename(fresh, bare)
  await rm(tree, { recursive: true, force: true })
  return bare
}

async function runGit(args: readonly string[], cwd: string): Promise<void> {
  try {
    await run('git', [...AUTHOR, ...args], { cwd })
  } catch (error) {
    const { stderr = '', message } = error as Error & { stderr?: string }
    const why = stderr.trim().split('\n').at(-1) || message
    throw new Error(`cannot make the repository of the sample notebooks in ${cwd}: ${why}. Make room there, name another --data-dir, or start with --no-samples`, { cause: error })
  }
}

async function digestOf(directory: string): Promise<string> {
  const hash = createHash('sha256')
  const files = (await readdir(directory, { recursive: true, withFileTypes: true })).filter((file) => file.isFile())
  for (const path of files.map((file) => join(file.parentPath, file.name)).sort()) hash.update(path.slice(directory.length)).update('\0').update(await readFile(path)).update('\0')
  return hash.digest('hex')
}

/** The reason of a job for which nothing could run at all. */
export const COULD_NOT_RUN = 'RunnerUnavailable'

/** Creates the Secret and the sample jobs in `default`; those that exist are left alone, unless nothing could run for them. */
export async function createSampleJobs(stores: { readonly secrets: ResourceStore; readonly jobs: ResourceStore }, server: { readonly url: string; readonly ca: string }): Promise<void> {
  await ensure(stores.secrets, { apiVersion: 'v1', kind: 'Secret', metadata: { name: SECRET }, data: { 'ca.crt': Buffer.from(server.ca).toString('base64') } })
  const git = { url: `${server.url}${SAMPLES_PATH}`, revision: 'main', credentialsSecretRef: { name: SECRET } }
  for (const { name, notebook, golden } of SAMPLES) {
    const spec = { notebook: { git, path: notebook }, ...(golden ? { golden: { git, path: golden } } : {}) }
    await dropUnrun(stores.jobs, name)
    await ensure(stores.jobs, { apiVersion: 'mlops.dev/v1', kind: 'NotebookValidationJob', metadata: { name, labels: { 'mlops.dev/sample': 'true' } }, spec })
  }
}

async function dropUnrun(jobs: ResourceStore, name: string): Promise<void> {
  const entry = jobs.cache.get(`default/${name}`)
  const status = entry && jobs.codec.open(entry.value).status
  if (isObject(status) && status.reason === COULD_NOT_RUN) await remove(jobs, name, {}, internalWrite(jobs, 'default'))
}

async function ensure(store: ResourceStore, object: KubeObject): Promise<void> {
  const body = receive(object, requestVersion(store, store.conversion.hub)).object
  try {
    await create(store, body, internalWrite(store, 'default'))
  } catch (error) {
    if (!(error instanceof StatusError) || error.reason !== 'AlreadyExists') throw error
  }
}
