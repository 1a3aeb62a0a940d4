/** The main thread's end of the embedded store: calls go to the worker, all of one turn of the event loop in one message. */
import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import { Unavailable, UnknownOutcome } from './backend.ts'
import type { KeyValue } from './backend.ts'
import { fromFailure } from './sqlite-protocol.ts'
import type { Call, CallName, Calls, Hello, Reply, WorkerStart } from './sqlite-protocol.ts'

export interface Link {
  /** The store's revisions when it was opened. */
  readonly revision: number
  readonly compactedRevision: number
  /**
   * Calls the worker. `onResult` runs as soon as the answer is there, for all answers in their order, before the promise resolves; `onPage`
   * takes what comes before it. Rejects with the worker's failure, with Unavailable, or for a write under way with UnknownOutcome.
   */
  call<N extends CallName>(name: N, params: Calls[N]['params'], on?: Listener<N>): Promise<Calls[N]['result']>
  /** Throws Unavailable when the link is closed or the worker is dead. */
  check(): void
  /** Lets the calls made so far end, closes the files and waits for the worker to be gone. Later calls reject with Unavailable. */
  close(): Promise<void>
}

interface Listener<N extends CallName> {
  onResult?: (result: Calls[N]['result']) => void
  onPage?: (page: readonly KeyValue[]) => void
}

export interface LinkOptions extends WorkerStart {
  /** Called once when the worker dies; every call has been rejected then. */
  readonly onCrash: (cause: Unavailable) => void
  /** The worker's script; default: the one beside this file. */
  readonly script?: URL
}

interface Waiting {
  readonly name: CallName
  readonly listener: Listener<CallName>
  readonly resolve: (result: never) => void
  readonly reject: (reason: Error) => void
}

type Greeting = Exclude<Hello, { failure: unknown }>

/** The script has this file's own extension: .ts by type stripping, .js once built. */
const SCRIPT = new URL(`./sqlite-worker${extname(import.meta.filename)}`, import.meta.url)

/** Starts the worker, with none of this process's flags: some are refused by a thread. Rejects with StoreLocked or DirectoryUnusable. */
export async function openLink({ directory, firstRevision, orReadOnly, onCrash, script = SCRIPT }: LinkOptions): Promise<Link> {
  const worker = new Worker(script, { workerData: { directory, firstRevision, ...(orReadOnly !== undefined && { orReadOnly }) } satisfies WorkerStart, execArgv: [] })
  const exited = new Promise<void>((resolve) => worker.once('exit', () => resolve()))
  const { promise, resolve, reject } = Promise.withResolvers<Hello>()
  worker.once('message', resolve)
  worker.once('error', reject)
  void exited.then(() => reject(new Unavailable('the store has failed: its thread has ended')))
  const hello = await promise
  worker.off('error', reject)
  if ('failure' in hello) {
    await exited
    throw fromFailure(hello.failure)
  }
  return linkTo(worker, exited, hello, onCrash)
}

function linkTo(worker: Worker, exited: Promise<void>, hello: Greeting, onCrash: (cause: Unavailable) => void): Link {
  const calls = openCalls(worker)
  let refusal: Unavailable | undefined
  let closed: Promise<void> | undefined
  let failed: Error | undefined

  worker.on('message', (replies: Reply[]) => replies.forEach(calls.receive))
  worker.on('error', (err) => (failed = err instanceof Error ? err : new Error(String(err))))
  worker.on('exit', (code) => {
    if (closed && calls.done()) return
    const cause = failed ?? new Error(`its thread has ended with code ${code}`)
    refusal = new Unavailable(`the store has failed: ${cause.message}`, { cause })
    calls.rejectAll(refusal, new UnknownOutcome(`the store has failed during the write: ${cause.message}`, { cause }))
    onCrash(refusal)
  })
  const check = (): void => {
    if (refusal) throw refusal
  }
  return {
    ...hello,
    check,
    async call(name, params, listener) {
      check()
      return calls.send(name, params, listener)
    },
    close() {
      if (refusal && !closed) return exited
      refusal ??= new Unavailable('the store is closed')
      closed ??= calls.send('close', undefined).then(() => exited)
      return closed
    },
  }
}

/** The calls that wait for their answers. */
interface WaitingCalls {
  send<N extends CallName>(name: N, params: Calls[N]['params'], listener?: Listener<N>): Promise<Calls[N]['result']>
  receive(reply: Reply): void
  /** Rejects writes that the worker has got with `unknown`, all else with `refusal`. */
  rejectAll(refusal: Unavailable, unknown: UnknownOutcome): void
  done(): boolean
}

function openCalls(worker: Worker): WaitingCalls {
  const waiting = new Map<number, Waiting>()
  let unsent: Call[] = []
  let ids = 0

  const flush = (): void => {
    worker.postMessage(unsent)
    unsent = []
  }
  return {
    send: (name, params, listener = {}) =>
      new Promise((resolve, reject) => {
        const id = ++ids
        waiting.set(id, { name, listener: listener as Listener<CallName>, resolve, reject })
        if (unsent.push({ id, name, params } as Call) === 1) setImmediate(flush)
      }),
    receive(reply) {
      const call = waiting.get(reply.id)!
      if ('page' in reply) return call.listener.onPage?.(reply.page)
      waiting.delete(reply.id)
      if ('failure' in reply) return call.reject(fromFailure(reply.failure))
      call.listener.onResult?.(reply.result)
      call.resolve(reply.result as never)
    },
    rejectAll(refusal, unknown) {
      const kept = new Set(unsent.map((call) => call.id))
      for (const [id, { name, reject }] of waiting) reject((name === 'commit' || name === 'endLease') && !kept.has(id) ? unknown : refusal)
      waiting.clear()
    },
    done: () => waiting.size === 0,
  }
}
