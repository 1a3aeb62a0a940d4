/** The migrating process of the crash campaign: `storage migrate` to one version after another, on etcd itself, and again after each kill. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'

const LAUNCHER = join(import.meta.dirname, '..', '..', 'src', 'launch.mjs')
const VERSIONS = ['v1beta1', 'v1alpha1', 'v1']
/** So slow that there is a middle in which it can be killed. */
const RATE = '400'
/** Done; refused for now; another one has it; no store; it was killed. Paused means that it was held back or lost the store. */
const EXPECTED: readonly (number | null)[] = [0, 3, 4, 8, 9, null]

export class CrashMigrator {
  completed = 0
  readonly #servers: readonly string[]
  readonly #done: Promise<void>
  #child: ChildProcess | undefined
  #stopped = false
  failure: string | undefined

  constructor(servers: readonly string[]) {
    this.#servers = servers
    this.#done = this.#migrate()
  }

  async #migrate(): Promise<void> {
    for (let next = 0, ended = true; !this.#stopped && this.failure === undefined; ) {
      const to = VERSIONS[next % VERSIONS.length]!
      const code = await this.#run(ended ? ['--to', to, '--accept-rollback'] : [])
      if (code === 0) {
        this.completed++
        next++
      } else await sleep(200)
      // What was begun must end before another version can be set.
      ended = code === 0 || !ended
    }
  }

  async #run(args: readonly string[]): Promise<number | null> {
    const child = spawn(process.execPath, [LAUNCHER, 'storage', 'migrate', '--rate', RATE, ...args, ...this.#servers], { stdio: ['ignore', 'ignore', 'pipe'] })
    this.#child = child
    const [said, [code]] = (await Promise.all([text(child.stderr), once(child, 'close')])) as [string, [number | null]]
    if (!EXPECTED.includes(code)) this.failure = `storage migrate ended with ${code}: ${said}`
    return code
  }

  /** SIGKILL; the process id of what was killed. */
  kill(): number | undefined {
    this.#child?.kill('SIGKILL')
    return this.#child?.pid
  }

  /** Lets the one under way end, and begins no other. */
  async stop(): Promise<void> {
    this.#stopped = true
    await this.#done
  }
}
