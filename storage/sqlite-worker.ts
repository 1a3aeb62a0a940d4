/**
 * The worker thread of the embedded store: the only one that touches the database. It takes all calls that have come in while it was
 * busy, answers the reads, carries out the writes in one transaction, and gives long work one step, then starts over.
 */
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import { Compacted, FutureRevision, OutOfSpace } from './backend.ts'
import { isFull, openDirectory } from './sqlite-directory.ts'
import type { Directory } from './sqlite-directory.ts'
import { DirectoryUnusable, StoreLocked, toFailure } from './sqlite-protocol.ts'
import type { Call, Calls, Hello, Reply, WorkerStart } from './sqlite-protocol.ts'
import { checkReadable, prepareReads } from './sqlite-reads.ts'
import type { Reads } from './sqlite-reads.ts'
import { prepareSweep } from './sqlite-sweep.ts'
import type { Sweep } from './sqlite-sweep.ts'
import { createTables, readMeta, transaction, writeMeta } from './sqlite-tables.ts'
import { prepareWrites } from './sqlite-writes.ts'
import type { Write, Writes } from './sqlite-writes.ts'

/** At most this many writes in one transaction, so that the first of them does not wait for too long. */
const BATCH = 512

interface Store {
  readonly directory: Directory
  readonly reads: Reads
  readonly writes: Writes
  readonly sweep: Sweep
  compacted: number
  /** Rows wait for the sweep. */
  sweeping: boolean
}

/** A range that is being read. Its revision is not swept away under it. */
interface RangeRead {
  readonly id: number
  readonly revision: number
  readonly steps: ReturnType<Reads['range']>
}

const port = parentPort!

function openStore({ directory: path, firstRevision }: WorkerStart): Store {
  const directory = openDirectory(path)
  const { database } = directory
  try {
    createTables(database, path, firstRevision)
    const writes = prepareWrites(database)
    writes.endLeases()
    const compacted = readMeta(database, 'compacted')
    return { directory, writes, reads: prepareReads(database), sweep: prepareSweep(database), compacted, sweeping: true }
  } catch (err) {
    directory.close()
    throw err
  }
}

function serve(store: Store): void {
  const { directory, reads, writes, sweep } = store
  const inbox: Call[] = []
  const ranges = new Set<RangeRead>()
  let closing: Call | undefined
  let stepping = false

  const startRange = (id: number, params: Calls['range']['params']): void => {
    const revision = params.revision ?? writes.revision
    checkReadable(revision, store.compacted, writes.revision)
    ranges.add({ id, revision, steps: reads.range(params, revision) })
  }
  const compact = (revision: number): void => {
    if (revision > writes.revision) throw new FutureRevision(writes.revision)
    if (revision <= store.compacted) return
    transaction(directory.database, () => writeMeta(directory.database, 'compacted', revision))
    store.compacted = revision
    store.sweeping = true
  }
  /** The answer; undefined when it comes later. */
  const answer = (call: Call): Reply | undefined => {
    switch (call.name) {
      case 'get':
        return { id: call.id, result: writes.get(call.params) }
      case 'range':
        startRange(call.id, call.params)
        return undefined
      case 'log':
        if (call.params.after + 1 < store.compacted) throw new Compacted(store.compacted)
        return { id: call.id, result: reads.log(call.params, writes.revision) }
      case 'compact':
        return { id: call.id, result: compact(call.params) }
      case 'checkpoint':
        directory.database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
        return { id: call.id, result: undefined }
      case 'size':
        return { id: call.id, result: directory.size() }
      case 'close':
        closing = call
        return undefined
      default:
        throw new TypeError(`${call.name} is no read`)
    }
  }
  const answerSafely = (call: Call): Reply | undefined => {
    try {
      return answer(call)
    } catch (err) {
      const failure = toFailure(isFull(err) ? new OutOfSpace('the disk is full') : err)
      if (!failure) throw err
      return { id: call.id, failure }
    }
  }
  const write = (calls: readonly Call[]): Reply[] => {
    if (calls.length === 0) return []
    const outcomes = writes.run(calls.map(toWrite))
    return calls.map(({ id }, i) => {
      const outcome = outcomes[i]!
      return outcome instanceof OutOfSpace ? { id, failure: toFailure(outcome)! } : { id, result: outcome }
    })
  }
  const stepRanges = (): Reply[] =>
    [...ranges].map((range) => {
      const { id } = range
      const { done, value } = range.steps.next()
      if (!done) return { id, page: value }
      ranges.delete(range)
      return { id, result: value }
    })
  const stepSweep = (): void => {
    const below = Math.min(store.compacted, ...[...ranges].map((range) => range.revision + 1))
    try {
      store.sweeping = sweep.step(below) || below < store.compacted
    } catch (err) {
      // No room even to remove rows: the next compaction tries again.
      if (!isFull(err)) throw err
      store.sweeping = false
    }
  }
  const turn = (): void => {
    for (let received; (received = receiveMessageOnPort(port)); ) inbox.push(...(received.message as Call[]))
    const calls = inbox.splice(0)
    post(calls.filter((call) => !isWrite(call)).flatMap((call) => answerSafely(call) ?? []))
    const written = calls.filter(isWrite)
    for (let i = 0; i < written.length; i += BATCH) post(write(written.slice(i, i + BATCH)))
    post(stepRanges())
    if (store.sweeping && !closing) stepSweep()
    if (ranges.size > 0 || (store.sweeping && !closing)) stepSoon()
    else if (closing) finish(closing)
  }
  const stepSoon = (): void => {
    if (stepping) return
    stepping = true
    setImmediate(() => {
      stepping = false
      turn()
    })
  }
  const finish = (call: Call): void => {
    directory.close()
    post([{ id: call.id, result: undefined }])
    port.close()
  }
  port.on('message', (calls: Call[]) => {
    inbox.push(...calls)
    turn()
  })
  stepSoon()
}

function isWrite(call: Call): boolean {
  return call.name === 'commit' || call.name === 'endLease'
}

function toWrite(call: Call): Write {
  if (call.name === 'commit') return { commit: call.params }
  if (call.name === 'endLease') return { endLease: call.params }
  throw new TypeError(`${call.name} is no write`)
}

function post(replies: readonly Reply[]): void {
  if (replies.length > 0) port.postMessage(replies)
}

function greet(hello: Hello): void {
  port.postMessage(hello)
}

function start(): void {
  const options = workerData as WorkerStart
  try {
    const store = openStore(options)
    serve(store)
    greet({ revision: store.writes.revision, compactedRevision: store.compacted })
  } catch (err) {
    const { directory } = options
    if (err instanceof StoreLocked) greet({ failure: { kind: 'StoreLocked', directory, pid: err.pid } })
    else greet({ failure: { kind: 'DirectoryUnusable', directory, reason: reasonOf(err) } })
  }
}

function reasonOf(err: unknown): string {
  if (err instanceof DirectoryUnusable) return err.reason
  return err instanceof Error ? err.message : String(err)
}

start()
