/**
 * Child processes that can be ended with everything they have started: each is the leader of a session and process
 * group of its own, and what leaves the group (a Jupyter kernel does) is found by a mark in its environment.
 */
import { execFile, spawn } from 'node:child_process'
import { readFile, readdir } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import type { Clock } from '../base/clock.ts'

/** The environment of a child. */
export type Environment = Readonly<Record<string, string | undefined>>

/** The variable whose value marks all processes of one attempt. Names under MLOPS_ are refused in a job's own variables. */
export const ATTEMPT_MARK = 'MLOPS_ATTEMPT'

/** How a process ended. The texts are the last `keepBytes` of each stream. `error` says why it could not be started. */
export type Exit = {
  readonly code: number | null
  readonly signal: string | null
  readonly stdout: string
  readonly stderr: string
  readonly timedOut: boolean
  readonly error?: NodeJS.ErrnoException
}

export interface RunningProcess {
  /** Undefined when it could not be started. */
  readonly pid: number | undefined
  readonly exited: Promise<Exit>
  /** SIGTERM to the group, SIGKILL after `graceMs`. */
  stop(graceMs: number): Promise<Exit>
}

export interface ProcessOptions {
  readonly command: string
  readonly args: readonly string[]
  readonly directory?: string
  readonly environment: Environment
  /** The process is stopped after so many milliseconds. */
  readonly timeoutMs?: number
  /** How much of each stream is kept, from its end. */
  readonly keepBytes?: number
  /** Called for each line of standard output. */
  readonly onLine?: (line: string) => void
  readonly signal?: AbortSignal
  readonly clock: Clock
}

const STOP_GRACE_MS = 5_000
const KEEP_BYTES = 16 * 1024

/** Starts a process in a session of its own, without a shell and without standard input. Never throws: see `Exit.error`. */
export function startProcess(options: ProcessOptions): RunningProcess {
  const child = spawn(options.command, options.args, {
    cwd: options.directory,
    env: options.environment,
    detached: true,
    shell: false,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const keep = options.keepBytes ?? KEEP_BYTES
  const stdout = keepTail(child.stdout, keep)
  const stderr = keepTail(child.stderr, keep)
  if (options.onLine) createInterface(child.stdout).on('line', options.onLine)
  let timedOut = false
  const exited = new Promise<Exit>((resolve) => {
    const end = (code: number | null, signal: string | null, error?: NodeJS.ErrnoException) =>
      resolve({ code, signal, stdout: stdout(), stderr: stderr(), timedOut, ...(error ? { error } : {}) })
    child.on('error', (error) => end(null, null, error))
    // a descendant may hold the pipes open for ever: the leader's end is what counts, with a moment for its last words
    child.on('exit', (code, signal) => {
      const late = options.clock.schedule(500, () => end(code, signal))
      child.on('close', () => {
        late.cancel()
        end(code, signal)
      })
    })
  })
  const stop = async (graceMs: number): Promise<Exit> => {
    signalGroup(child.pid, 'SIGTERM')
    const kill = options.clock.schedule(graceMs, () => signalGroup(child.pid, 'SIGKILL'))
    const exit = await exited
    kill.cancel()
    // members of the group may have outlived their leader
    signalGroup(child.pid, 'SIGKILL')
    return exit
  }
  watchForEnd(options, exited, () => stop(STOP_GRACE_MS), () => (timedOut = true))
  return { pid: child.pid, exited, stop }
}

function watchForEnd(options: ProcessOptions, exited: Promise<Exit>, stop: () => Promise<Exit>, onTimeout: () => void): void {
  const abort = () => void stop()
  const timer =
    options.timeoutMs === undefined
      ? undefined
      : options.clock.schedule(options.timeoutMs, () => {
          onTimeout()
          void stop()
        })
  if (options.signal?.aborted) abort()
  else options.signal?.addEventListener('abort', abort, { once: true })
  void exited.then(() => {
    timer?.cancel()
    options.signal?.removeEventListener('abort', abort)
  })
}

function keepTail(stream: NodeJS.ReadableStream, limit: number): () => string {
  let chunks: Buffer[] = []
  let bytes = 0
  stream.on('data', (chunk: Buffer) => {
    chunks.push(chunk)
    bytes += chunk.length
    if (bytes > 2 * limit) {
      chunks = [Buffer.concat(chunks).subarray(-limit)]
      bytes = limit
    }
  })
  // the other end may vanish at any time; the exit tells
  stream.on('error', () => {})
  return () => Buffer.concat(chunks).subarray(-limit).toString('utf8')
}

/** Sends a signal to a process group. False when there is none. */
export function signalGroup(pid: number | undefined, signal: NodeJS.Signals): boolean {
  // pid 0 and 1 as group ids would mean our own group and everybody
  if (pid === undefined || pid <= 1) return false
  try {
    process.kill(-pid, signal)
    return true
  } catch {
    return false
  }
}

/** When a process was started, as a text that differs for another process of the same id; undefined when it does not live. */
export async function readStartTime(pid: number): Promise<string | undefined> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
    // the name in parentheses may hold anything; the start time is the 20th field behind it
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return fields[0] === 'Z' ? undefined : fields[19]
  } catch {
    return process.platform === 'linux' ? undefined : readStartTimeByPs(pid)
  }
}

function readStartTimeByPs(pid: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    execFile('ps', ['-o', 'lstart=', '-p', String(pid)], (error, stdout) => resolve(error ? undefined : stdout.trim() || undefined))
  })
}

/** The processes that carry an attempt's mark. Only Linux shows the environment of others; elsewhere none are found. */
export async function findMarked(mark: string): Promise<number[]> {
  const wanted = `\0${ATTEMPT_MARK}=${mark}\0`
  const entries = await readdir('/proc').catch(() => [])
  const pids = entries.filter((name) => /^[0-9]+$/.test(name)).map(Number)
  const found = await Promise.all(
    pids.map(async (pid) => {
      const environment = await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '')
      return `\0${environment}`.includes(wanted) ? pid : undefined
    }),
  )
  return found.filter((pid) => pid !== undefined)
}

const KILL_ROUNDS = 100
const KILL_PAUSE_MS = 20

/**
 * Kills what carries an attempt's mark, until there is nothing left: a process may fork while we look, and the killed
 * need a moment. Returns how many processes there were.
 */
export async function killMarked(mark: string, clock: Clock): Promise<number> {
  const killed = new Set<number>()
  for (let round = 0; round < KILL_ROUNDS; round++) {
    const pids = await findMarked(mark)
    if (pids.length === 0) break
    for (const pid of pids) {
      try {
        process.kill(pid, 'SIGKILL')
      } catch {
        // gone meanwhile
      }
      killed.add(pid)
    }
    await clock.sleep(KILL_PAUSE_MS)
  }
  return killed.size
}
