/**
 * The Python virtual environment that notebooks run in, prepared on first use. It is built where it stays, since its
 * scripts (pip, jupyter) name the path that they were made at, under a name of its own; a pointer file names the one in
 * use, so that a half-made one is never seen and two workers cannot disturb each other.
 */
import { createHash } from 'node:crypto'
import { link, mkdir, readFile, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Clock } from '../base/clock.ts'
import { AttemptError } from './attempt-failure.ts'
import { type Environment, type Exit, readStartTime, startProcess } from './process-group.ts'

/** How far the preparation is; `done` and `total` count packages. */
export type PreparationProgress = { readonly message: string; readonly done?: number; readonly total?: number }

export interface PythonEnvironmentOptions {
  /** Where environments are kept, one for each digest of the requirements. */
  readonly directory: string
  /** The system's Python: a name on PATH or a path. */
  readonly python: string
  /** The environment of the children: pip is configured by the machine. */
  readonly environment: Environment
  readonly clock: Clock
  readonly onProgress?: (progress: PreparationProgress) => void
  readonly signal?: AbortSignal
}

/** The pinned packages that the runner needs. */
export const REQUIREMENTS_FILE = fileURLToPath(new URL('./runner/requirements.txt', import.meta.url))

// packages that pip fetches for the pinned ones: only for the length of a progress bar
const USUAL_PACKAGES = 37
const PIP_TIMEOUT_MS = 15 * 60_000
const CHECK = 'import sys, nbclient, nbformat, ipykernel; print(sys.prefix)'
const PROBE = 'import sys; print("%d.%d" % sys.version_info[:2]); import venv, ensurepip'

/**
 * The path of a Python that has what the runner needs; prepares the environment when there is none or it is broken.
 * Throws AttemptError: Final when Python or its venv module is missing, Infrastructure when packages cannot be fetched.
 */
export async function preparePythonEnvironment(options: PythonEnvironmentOptions): Promise<string> {
  const requirements = await readFile(REQUIREMENTS_FILE)
  const digest = createHash('sha256').update(requirements).digest('hex').slice(0, 16)
  const pointer = join(options.directory, `${digest}.json`)
  const found = await usable(pointer, options)
  if (found !== undefined) return pythonOf(found)
  await probe(options)
  await mkdir(options.directory, { recursive: true })
  await removeAbandoned(options.directory)
  const startTime = (await readStartTime(process.pid)) ?? ''
  const place = join(options.directory, `${digest}-${process.pid}-${options.clock.uuid().slice(0, 8)}`)
  let chosen: string | undefined
  try {
    await writeFile(`${place}.owner`, JSON.stringify({ pid: process.pid, startTime }))
    await mkdir(place, { mode: 0o700 })
    await build(place, options)
    chosen = await choose(place, pointer, options)
  } finally {
    if (chosen !== place) await removeEnvironment(place)
  }
  return pythonOf(chosen)
}

const pythonOf = (place: string): string => join(place, 'bin', 'python')

/** The environment that a pointer names, when it works. */
async function usable(pointer: string, options: PythonEnvironmentOptions): Promise<string | undefined> {
  const place = await pointedAt(pointer)
  if (place === undefined) return undefined
  const exit = await run(options, pythonOf(place), ['-I', '-c', CHECK], 60_000)
  return exit.code === 0 ? place : undefined
}

async function pointedAt(pointer: string): Promise<string | undefined> {
  const { environment } = (await readFile(pointer, 'utf8').then(JSON.parse).catch(() => undefined)) ?? {}
  return typeof environment === 'string' ? join(dirname(pointer), basename(environment)) : undefined
}

async function probe(options: PythonEnvironmentOptions): Promise<void> {
  const exit = await run(options, options.python, ['-c', PROBE], 60_000)
  options.signal?.throwIfAborted()
  if (exit.error) {
    throw new AttemptError('Final', 'RunnerUnavailable', `Python was not found as "${options.python}": install Python 3.9 or newer (Debian and Ubuntu: apt install python3 python3-venv) or name another one with --python`)
  }
  const version = exit.stdout.trim()
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (version !== '' && (major < 3 || (major === 3 && minor < 9))) {
    throw new AttemptError('Final', 'RunnerUnavailable', `"${options.python}" is Python ${version}; the runner needs 3.9 or newer: install one or name it with --python`)
  }
  if (exit.code !== 0) throw venvMissing(version, exit)
}

function venvMissing(version: string, exit: Exit): AttemptError {
  const missing = /No module named '?(venv|ensurepip)/.test(exit.stderr)
  const text = missing
    ? `Python ${version} has no module for virtual environments: install the package python3-venv (Debian and Ubuntu: apt install python3-venv, or python${version}-venv)`
    : `Python does not work: ${lastLine(exit)}`
  return new AttemptError('Final', 'RunnerUnavailable', text)
}

async function build(place: string, options: PythonEnvironmentOptions): Promise<void> {
  options.onProgress?.({ message: 'creating a virtual environment', done: 0, total: USUAL_PACKAGES })
  const venv = await run(options, options.python, ['-m', 'venv', place], PIP_TIMEOUT_MS)
  options.signal?.throwIfAborted()
  if (venv.code !== 0) {
    const named = /(?:apt(?:-get)? install|package) (python[0-9.]*-venv)/.exec(`${venv.stdout}\n${venv.stderr}`)?.[1]
    const text = named
      ? `Python cannot make a virtual environment: install the package ${named} (Debian and Ubuntu: apt install ${named})`
      : `the virtual environment could not be made: ${lastLine(venv)}`
    throw new AttemptError('Final', 'RunnerUnavailable', text)
  }
  let done = 0
  const args = ['-m', 'pip', 'install', '--no-input', '--disable-pip-version-check', '--progress-bar', 'off', '-r', REQUIREMENTS_FILE]
  const pip = await run(options, pythonOf(place), args, PIP_TIMEOUT_MS, (line) => {
    const name = /^Collecting ([A-Za-z0-9._-]+)/.exec(line)?.[1]
    if (name !== undefined) options.onProgress?.({ message: `fetching ${name}`, done: ++done, total: Math.max(done, USUAL_PACKAGES) })
    else if (line.startsWith('Installing collected packages')) options.onProgress?.({ message: 'installing packages', done, total: Math.max(done, USUAL_PACKAGES) })
  })
  options.signal?.throwIfAborted()
  if (pip.code !== 0) {
    throw new AttemptError('Infrastructure', 'RunnerUnavailable', `the Python packages of the runner could not be installed: ${lastLine(pip)}`)
  }
  options.onProgress?.({ message: 'the Python environment is ready', done: USUAL_PACKAGES, total: USUAL_PACKAGES })
}

/** Points at a finished environment, unless somebody was faster: then theirs is the one. */
async function choose(place: string, pointer: string, options: PythonEnvironmentOptions): Promise<string> {
  const draft = `${place}.pointer`
  await writeFile(draft, JSON.stringify({ environment: basename(place) }))
  // of several first ones only one can be linked; a broken one is replaced, and removed when its maker is gone
  const first = await link(draft, pointer).then(() => true, () => false)
  const other = first ? undefined : await usable(pointer, options)
  if (!first && other === undefined) await rename(draft, pointer)
  else await rm(draft, { force: true })
  return other ?? place
}

async function removeEnvironment(place: string): Promise<void> {
  await rm(place, { recursive: true, force: true })
  await rm(`${place}.pointer`, { force: true })
  await rm(`${place}.owner`, { force: true })
}

/** Removes what no pointer names and whose maker does not live any more: it was interrupted, or replaced. */
async function removeAbandoned(directory: string): Promise<void> {
  const names = await readdir(directory)
  const pointed = await Promise.all(names.filter((name) => name.endsWith('.json')).map((name) => pointedAt(join(directory, name))))
  for (const place of names.filter((name) => /^[0-9a-f]{16}-[0-9]+-[0-9a-f]{8}$/.test(name)).map((name) => join(directory, name))) {
    if (pointed.includes(place)) continue
    const { pid, startTime } = (await readFile(`${place}.owner`, 'utf8').then(JSON.parse).catch(() => undefined)) ?? {}
    if (typeof pid === 'number' && (await readStartTime(pid)) === startTime) continue
    await removeEnvironment(place)
  }
}

function run(options: PythonEnvironmentOptions, command: string, args: string[], timeoutMs: number, onLine?: (line: string) => void): Promise<Exit> {
  const { environment, clock, signal } = options
  return startProcess({ command, args, environment, clock, timeoutMs, ...(signal ? { signal } : {}), ...(onLine ? { onLine } : {}) }).exited
}

function lastLine(exit: Exit): string {
  if (exit.error) return exit.error.message
  if (exit.timedOut) return 'it took too long'
  const lines = `${exit.stdout}\n${exit.stderr}`.trim().split('\n')
  return (lines.findLast((line) => /error/i.test(line)) ?? lines.at(-1) ?? '').slice(0, 500) || `exit status ${exit.code}`
}
