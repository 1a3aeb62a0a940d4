/**
 * YAML bodies. A large one is parsed in a thread, so that nobody else waits for it: it takes seconds, a hundred times as long as JSON. The
 * thread has a limit of memory and of time for each body, and goes when it has had nothing to do for a while.
 */
import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import { DecodeError, decodeYaml, parseStored, type DecodedYaml, type YamlDecoder } from '../api/codec.ts'
import { decodeText } from '../api/decode-text.ts'
import { internalError, requestEntityTooLarge, serviceUnavailable, type StatusError } from '../api/status.ts'
import { decodeJsonText } from '../api/yaml.ts'
import type { Clock, Timer } from '../base/clock.ts'
import type { YamlReply } from './yaml-thread.ts'

export interface YamlBodies {
  /** The decoder of a body; it has been parsed when it is large. Rejects with 413 or 503 Status errors, or with the signal's reason. */
  prepare(bytes: Uint8Array, signal: AbortSignal): Promise<YamlDecoder>
  close(): Promise<void>
}

// Up to this size the slowest text takes about as long as its way to the thread and back.
const SMALL_BYTES = 16 * 1024
const BRACE = 0x7b
const PARSE_MS = 20_000
const IDLE_MS = 60_000
const HEAP_MIB = 512
// Each waits with its bytes in memory.
const MAX_WAITING = 20
const RETRY_SECONDS = 5

/** The script has this file's own extension: .ts by type stripping, .js once built. */
const SCRIPT = new URL(`./yaml-thread${extname(import.meta.filename)}`, import.meta.url)

interface Job {
  readonly bytes: Uint8Array
  readonly resolve: (decoder: YamlDecoder) => void
  readonly reject: (reason: unknown) => void
}

/** Opens without a thread: the first large body starts it. */
export function openYamlBodies({ clock }: { readonly clock: Clock }): YamlBodies {
  const thread = new Thread(clock)
  return {
    async prepare(bytes, signal) {
      if (bytes.length <= SMALL_BYTES) return decodeYaml
      const json = bytes[0] === BRACE ? decodeJsonText(decodeText(bytes)) : undefined
      if (json) return () => json
      signal.throwIfAborted()
      return await thread.parse(bytes, signal)
    },
    close: () => thread.stop(),
  }
}

const tooCostly = (what: string): StatusError => requestEntityTooLarge(`this YAML takes more than ${what} to parse; send it as JSON`)

class Thread {
  readonly #clock: Clock
  readonly #waiting: Job[] = []
  #current: Job | undefined
  #worker: Worker | undefined
  // Of the job that runs, else until the thread goes.
  #timer: Timer | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  async parse(bytes: Uint8Array, signal: AbortSignal): Promise<YamlDecoder> {
    if (this.#waiting.length >= MAX_WAITING) throw serviceUnavailable('too many large YAML bodies are waiting to be parsed', RETRY_SECONDS)
    const { promise, resolve, reject } = Promise.withResolvers<YamlDecoder>()
    const job = { bytes, resolve, reject }
    const onAbort = (): void => this.#forget(job, signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
    this.#waiting.push(job)
    this.#next()
    try {
      return await promise
    } finally {
      signal.removeEventListener('abort', onAbort)
    }
  }

  async stop(): Promise<void> {
    this.#timer?.cancel()
    const worker = this.#worker
    this.#worker = undefined
    await worker?.terminate()
  }

  // One that runs goes on: what it costs is bounded.
  #forget(job: Job, reason: unknown): void {
    const place = this.#waiting.indexOf(job)
    if (place >= 0) this.#waiting.splice(place, 1)
    job.reject(reason)
  }

  #next(): void {
    if (this.#current) return
    this.#timer?.cancel()
    this.#current = this.#waiting.shift()
    if (!this.#current) {
      this.#timer = this.#clock.schedule(IDLE_MS, () => void this.stop())
      return
    }
    this.#worker ??= this.#start()
    this.#worker.postMessage(this.#current.bytes)
    this.#timer = this.#clock.schedule(PARSE_MS, () => {
      void this.stop()
      this.#end((job) => job.reject(tooCostly(`${PARSE_MS / 1000} seconds`)))
    })
  }

  #end(settle: (job: Job) => void): void {
    const job = this.#current
    this.#current = undefined
    if (job) settle(job)
    this.#next()
  }

  #start(): Worker {
    const worker = new Worker(SCRIPT, { execArgv: [], resourceLimits: { maxOldGenerationSizeMb: HEAP_MIB } })
    worker.unref()
    worker.on('message', (reply: YamlReply) => {
      if (worker === this.#worker) this.#end((job) => job.resolve(() => read(reply)))
    })
    worker.on('error', (error: NodeJS.ErrnoException) => {
      if (worker !== this.#worker) return
      this.#worker = undefined
      const memory = error.code === 'ERR_WORKER_OUT_OF_MEMORY'
      this.#end((job) => job.reject(memory ? tooCostly(`${HEAP_MIB} MiB of memory`) : internalError(`the thread that parses YAML has failed: ${error.message}`)))
    })
    return worker
  }
}

function read(reply: YamlReply): DecodedYaml {
  if ('problem' in reply) throw new DecodeError(reply.problem)
  return { value: parseStored(reply.json), duplicates: reply.duplicates }
}
