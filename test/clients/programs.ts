/** The Go programs of this folder: built once for their sources, kept outside the checkout, and run to their end or until they are stopped. */
import { execFile, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'

const run = promisify(execFile)

const SOURCES = import.meta.dirname
const CACHE = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'mlops-apiserver-test')
const PROGRAMS = ['client-go', 'reconciler'] as const
/** A machine may be at other work too. */
const WAIT_MS = 60_000

export type ProgramName = (typeof PROGRAMS)[number]

/** What a program reports in one line. */
// oxlint-disable-next-line typescript/no-explicit-any -- each scenario reports facts of its own
export type Facts = Record<string, any>

/** Why the programs cannot be built here, or false. For a test's `skip`. */
export async function whyNotBuilt(): Promise<string | false> {
  return await run('go', ['version']).then(() => false as const, () => 'needs Go, which is not on PATH')
}

/** Builds what is not built yet: minutes on a new machine, which downloads and compiles Kubernetes' client libraries. Returns where they are. */
export async function buildPrograms(): Promise<Readonly<Record<ProgramName, string>>> {
  const name = `clients-${digestOfSources()}`
  const directory = join(CACHE, name)
  if (!existsSync(directory)) await build(name, directory)
  return { 'client-go': join(directory, 'client-go'), reconciler: join(directory, 'reconciler') }
}

async function build(name: string, directory: string): Promise<void> {
  await mkdir(CACHE, { recursive: true })
  const old = (await readdir(CACHE)).filter((entry) => entry.startsWith('clients-') && entry !== name)
  // Made beside its place and renamed into it: another test file may be making it too.
  const scratch = await mkdtemp(join(CACHE, 'making-clients-'))
  try {
    const env = { ...process.env, CGO_ENABLED: '0', GOFLAGS: '-buildvcs=false -mod=readonly -p=2' }
    await run('nice', ['-n', '10', 'go', 'build', '-trimpath', '-ldflags', '-s -w', '-o', `${scratch}/`, ...PROGRAMS.map((program) => `./${program}`)], { cwd: SOURCES, env })
    await rename(scratch, directory).catch((error: unknown) => {
      if (!existsSync(directory)) throw error
    })
    for (const entry of old) await rm(join(CACHE, entry), { recursive: true, force: true })
  } finally {
    await rm(scratch, { recursive: true, force: true })
  }
}

function digestOfSources(): string {
  const hash = createHash('sha256')
  for (const file of globSync(['go.mod', 'go.sum', '**/*.go'], { cwd: SOURCES }).sort()) hash.update(`${file}\0`).update(readFileSync(join(SOURCES, file))).update('\0')
  return hash.digest('hex').slice(0, 16)
}

/** A program at work. Disposing stops it. */
export interface Program extends AsyncDisposable {
  readonly pid: number
  /** The next line, of those that nobody has waited for, that is as asked for. Those before it are forgotten. Rejects when none comes. */
  next(what: string, wanted: (facts: Facts) => boolean): Promise<Facts>
  /** Writes a line to its standard input. */
  say(line: string): void
  /** Sends it a signal. */
  signal(name: NodeJS.Signals): void
  /** Waits for its end; rejects unless its exit code is 0. Returns the lines that nobody has waited for. */
  end(): Promise<Facts[]>
}

/** Starts a program. `env` comes beside this process's own. */
export function startProgram(path: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): Program {
  const child = spawn(path, args, { stdio: ['pipe', 'pipe', 'pipe'], env: { ...process.env, ...env } })
  const lines: Facts[] = []
  let errors = ''
  let wake = (): void => {}
  let over = false
  createInterface({ input: child.stdout }).on('line', (line) => {
    lines.push(JSON.parse(line) as Facts)
    wake()
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text))
  // A program that has ended reads nothing more.
  child.stdin.on('error', () => {})
  const closed = once(child, 'close').then(() => {
    over = true
    wake()
  })
  return {
    pid: child.pid as number,
    async next(what, wanted) {
      let last: Facts | undefined
      const limit = performance.now() + WAIT_MS
      for (;;) {
        while (lines.length > 0) {
          last = lines.shift() as Facts
          if (wanted(last)) return last
        }
        const left = limit - performance.now()
        if (over || left <= 0) throw new Error(`${over ? 'ended' : 'not in time'} before ${what}; the last line was ${JSON.stringify(last)}\n${errors}`)
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, left)
          wake = () => {
            clearTimeout(timer)
            resolve()
          }
        })
      }
    },
    say: (line) => void child.stdin.write(`${line}\n`),
    signal: (name) => void child.kill(name),
    async end() {
      await closed
      if (child.exitCode !== 0) throw new Error(`code ${child.exitCode}, signal ${child.signalCode}:\n${errors}${lines.map((line) => JSON.stringify(line)).join('\n')}`)
      return lines.splice(0)
    },
    async [Symbol.asyncDispose]() {
      if (!over) child.kill('SIGKILL')
      await closed
    },
  }
}

/** Runs a program to its end and returns what it reports. */
export async function runProgram(path: string, args: readonly string[]): Promise<Facts[]> {
  await using program = startProgram(path, args)
  return await program.end()
}
