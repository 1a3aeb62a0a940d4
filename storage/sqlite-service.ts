/** How the worker thread of the embedded store spends its time: calls in, replies out, in turns that are short. */
import { Compacted, FutureRevision, OutOfSpace } from './backend.ts'
import type { RangeRequest } from './backend.ts'
import { isFull } from './sqlite-directory.ts'
import type { Directory } from './sqlite-directory.ts'
import { ReadOnly, toFailure } from './sqlite-protocol.ts'
import type { Call, CommitOutcome, Reply } from './sqlite-protocol.ts'
import { checkReadable } from './sqlite-reads.ts'
import type { Reads } from './sqlite-reads.ts'
import { isEssential } from './sqlite-room.ts'
import type { Sweep } from './sqlite-sweep.ts'
import { transaction, writeMeta } from './sqlite-tables.ts'
import type { Write, Writes } from './sqlite-writes.ts'

/** At most this many writes in one transaction, so that the first of them does not wait for too long. */
const BATCH = 512

/** An open store. */
export interface Store {
  readonly directory: Directory
  readonly reads: Reads
  readonly writes: Writes
  readonly sweep: Sweep
  readonly compactedRevision: number
}

/** A range that is being read. Its revision is not swept away under it. */
interface RangeRead {
  readonly id: number
  readonly revision: number
  readonly steps: ReturnType<Reads['range']>
}

/** Serves calls on a store. Whatever it throws means that the database can no longer be trusted: the thread must end. */
export class Service {
  readonly #store: Store
  readonly #post: (replies: readonly Reply[]) => void
  readonly #ranges = new Set<RangeRead>()
  #compacted: number
  /** Rows may wait for the sweep: those that an earlier process left, at first. */
  #sweeping: boolean
  #closing: Call | undefined

  constructor(store: Store, post: (replies: readonly Reply[]) => void) {
    this.#store = store
    this.#post = post
    this.#compacted = store.compactedRevision
    this.#sweeping = !store.directory.readOnly
  }

  /**
   * One turn: answers the reads, carries out the writes in one transaction, then those in the background in another (while it runs, those who waited for
   * the first go on already), and gives long work one step. 'more': long work is left, another turn is due; 'idle': nothing is left; 'closed': the last
   * call was answered, the files are closed.
   */
  turn(calls: readonly Call[]): 'more' | 'idle' | 'closed' {
    this.#post(calls.filter((call) => !isWrite(call)).flatMap((call) => this.#answer(call) ?? []))
    const writes = calls.filter(isWrite)
    this.#writeAll(writes.filter((call) => !isBackground(call)))
    this.#writeAll(writes.filter(isBackground))
    this.#post([...this.#ranges].map((range) => this.#stepRange(range)))
    if (this.#sweeping && !this.#closing) this.#stepSweep()
    if (this.#ranges.size > 0 || (this.#sweeping && !this.#closing)) return 'more'
    if (!this.#closing) return 'idle'
    this.#store.directory.close()
    this.#post([{ id: this.#closing.id, result: undefined }])
    return 'closed'
  }

  /** The reply to a call that writes no keys; undefined when it comes later. */
  #answer(call: Call): Reply | undefined {
    try {
      return this.#carryOut(call)
    } catch (err) {
      const failure = toFailure(isFull(err) ? new OutOfSpace('the disk is full') : err)
      if (!failure) throw err
      return { id: call.id, failure }
    }
  }

  #carryOut(call: Call): Reply | undefined {
    const { id } = call
    const { directory, reads, writes } = this.#store
    switch (call.name) {
      case 'get':
        return { id, result: writes.get(call.params) }
      case 'range':
        this.#startRange(id, call.params)
        return undefined
      case 'log':
        if (call.params.after + 1 < this.#compacted) throw new Compacted(this.#compacted)
        return { id, result: reads.log(call.params, writes.revision) }
      case 'compact':
        this.#compact(call.params)
        directory.room.keep()
        return { id, result: undefined }
      case 'checkpoint':
        if (!directory.readOnly) directory.database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
        return { id, result: undefined }
      case 'size':
        return { id, result: { bytes: directory.size(), space: directory.room.measure(), ...(directory.readOnly && { readOnly: true }) } }
      case 'close':
        this.#closing = call
        return undefined
      default:
        throw new TypeError(`${call.name} writes keys`)
    }
  }

  #startRange(id: number, request: RangeRequest): void {
    const { reads, writes } = this.#store
    const revision = request.revision ?? writes.revision
    checkReadable(revision, this.#compacted, writes.revision)
    this.#ranges.add({ id, revision, steps: reads.range(request, revision) })
  }

  #stepRange(range: RangeRead): Reply {
    const { done, value } = range.steps.next()
    if (!done) return { id: range.id, page: value }
    this.#ranges.delete(range)
    return { id: range.id, result: value }
  }

  #compact(revision: number): void {
    const { directory, writes } = this.#store
    if (revision > writes.revision) throw new FutureRevision(writes.revision)
    if (revision <= this.#compacted) return
    if (directory.readOnly) throw readOnly()
    transaction(directory.database, () => writeMeta(directory.database, 'compacted', revision))
    this.#compacted = revision
    this.#sweeping = true
  }

  #stepSweep(): void {
    const below = Math.min(this.#compacted, ...[...this.#ranges].map((range) => range.revision + 1))
    try {
      this.#sweeping = this.#store.sweep.step(below) || below < this.#compacted
    } catch (err) {
      // No room even to remove rows: the next compaction tries again.
      if (!isFull(err)) throw err
      this.#sweeping = false
    }
  }

  #writeAll(calls: readonly Call[]): void {
    for (let i = 0; i < calls.length; i += BATCH) this.#post(this.#write(calls.slice(i, i + BATCH)))
  }

  #write(calls: readonly Call[]): Reply[] {
    if (this.#store.directory.readOnly) return calls.map(({ id }) => ({ id, failure: toFailure(readOnly())! }))
    const writes = calls.map(toWrite)
    const admitted = this.#admit(writes)
    const outcomes = this.#run(writes.filter((_, i) => admitted[i]))
    let next = 0
    return calls.map(({ id }, i) => {
      const outcome = admitted[i] ? outcomes[next++]! : new OutOfSpace('the disk has too little room, nothing was written')
      return outcome instanceof OutOfSpace ? { id, failure: toFailure(outcome)! } : { id, result: outcome }
    })
  }

  #admit(writes: readonly Write[]): boolean[] {
    const { directory, writes: into } = this.#store
    const admitted = directory.room.admit(writes)
    if (!admitted.includes(false)) return admitted
    into.relieve()
    return directory.room.admit(writes)
  }

  // What is essential gets the room that was kept for it.
  #run(writes: readonly Write[]): (CommitOutcome | OutOfSpace)[] {
    const { directory, writes: into } = this.#store
    const outcomes = into.run(writes)
    const waiting = writes.filter((write, i) => outcomes[i] instanceof OutOfSpace && isEssential(write))
    if (waiting.length === 0 || !directory.room.release()) return outcomes
    const again = new Map(into.run(waiting).map((outcome, i) => [waiting[i]!, outcome]))
    return outcomes.map((outcome, i) => again.get(writes[i]!) ?? outcome)
  }
}

function readOnly(): ReadOnly {
  return new ReadOnly('the store is on a read-only file system: nothing can be written')
}

function isWrite(call: Call): boolean {
  return call.name === 'commit' || call.name === 'endLease'
}

function isBackground(call: Call): boolean {
  return call.name === 'commit' && call.params.background === true
}

function toWrite(call: Call): Write {
  if (call.name === 'commit') return { commit: call.params }
  if (call.name === 'endLease') return { endLease: call.params }
  throw new TypeError(`${call.name} writes no keys`)
}
