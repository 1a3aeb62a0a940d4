/** What the threads of the embedded store say to each other. Only plain data: it is cloned on the way. */
import { BackendError, Compacted, FutureRevision, OutOfSpace, Unavailable } from './backend.ts'
import type { BackendStatus, CommitRequest, KeyValue, RangeRequest, WatchBatch, WatchEvent } from './backend.ts'
import type { LogRequest } from './event-feed.ts'

/** Given to the worker when it starts. */
export interface WorkerStart {
  readonly directory: string
  /** The revision of the store if it is a new one. */
  readonly firstRevision: number
  /** Open it also where nothing can be written. */
  readonly orReadOnly?: boolean
}

/** One call, with its parameters and its answer. */
export interface Calls {
  readonly commit: { params: CommitRequest; result: CommitOutcome }
  /** Deletes the keys of a lease. */
  readonly endLease: { params: string; result: WriteOutcome }
  readonly get: { params: string; result: KeyValue | undefined }
  /** The pairs come in pages before the answer. */
  readonly range: { params: RangeRequest; result: RangeSummary }
  readonly log: { params: LogRequest; result: WatchBatch }
  readonly compact: { params: number; result: void }
  readonly checkpoint: { params: void; result: void }
  /** Bytes on disk, and the disk's room. */
  readonly size: { params: void; result: Pick<BackendStatus, 'bytes' | 'space' | 'readOnly'> }
  /** The last call: answered when the files are closed. */
  readonly close: { params: void; result: void }
}

export type CallName = keyof Calls

/** A call on its way to the worker. Messages are arrays of them. */
export type Call = { [N in CallName]: { readonly id: number; readonly name: N; readonly params: Calls[N]['params'] } }[CallName]

/** An answer, or a page before it. Messages are arrays of them. */
export type Reply =
  | { readonly id: number; readonly result: Calls[CallName]['result'] }
  | { readonly id: number; readonly page: readonly KeyValue[] }
  | { readonly id: number; readonly failure: Failure }

/** The worker's first message. */
export type Hello = { readonly revision: number; readonly compactedRevision: number } | { readonly failure: Failure }

/** A write that took place; the events lack the values put, which the main thread has. Those of puts come first, in the request's order. */
export interface WriteOutcome {
  readonly succeeded: true
  readonly revision: number
  readonly events: readonly WatchEvent[]
}

export type CommitOutcome = WriteOutcome | { readonly succeeded: false; readonly revision: number; readonly current: ReadonlyMap<string, KeyValue | undefined> }

export interface RangeSummary {
  readonly more: boolean
  readonly count: number
  readonly revision: number
}

/** Another process has the data directory open. */
export class StoreLocked extends BackendError {
  readonly directory: string
  /** The process that has it; undefined when it has not said so yet. */
  readonly pid: number | undefined
  constructor(directory: string, pid: number | undefined) {
    super(`data directory ${directory} is in use by ${pid === undefined ? 'another process' : `process ${pid}`}: stop it first, or choose another directory`)
    this.directory = directory
    this.pid = pid
  }
}

/** The store can only be read. Nothing was written. */
export class ReadOnly extends Unavailable {}

/** The data directory cannot be used: it cannot be made or written, or what is in it is no store of ours. */
export class DirectoryUnusable extends BackendError {
  readonly directory: string
  readonly reason: string
  constructor(directory: string, reason: string) {
    super(`data directory ${directory} cannot be used: ${reason}`)
    this.directory = directory
    this.reason = reason
  }
}

/** An error that crosses the threads; a class would not survive it. */
export type Failure =
  | { readonly kind: 'Compacted' | 'FutureRevision'; readonly revision: number }
  | { readonly kind: 'OutOfSpace' | 'ReadOnly'; readonly message: string }
  | { readonly kind: 'StoreLocked'; readonly directory: string; readonly pid: number | undefined }
  | { readonly kind: 'DirectoryUnusable'; readonly directory: string; readonly reason: string }

/** The failure that stands for an error of a call, undefined for one that is not expected. */
export function toFailure(err: unknown): Failure | undefined {
  if (err instanceof Compacted) return { kind: 'Compacted', revision: err.compactedRevision }
  if (err instanceof FutureRevision) return { kind: 'FutureRevision', revision: err.currentRevision }
  if (err instanceof ReadOnly) return { kind: 'ReadOnly', message: err.message }
  if (err instanceof OutOfSpace) return { kind: 'OutOfSpace', message: err.message }
  return undefined
}

/** The error that a failure stands for. */
export function fromFailure(failure: Failure): BackendError {
  switch (failure.kind) {
    case 'Compacted':
      return new Compacted(failure.revision)
    case 'FutureRevision':
      return new FutureRevision(failure.revision)
    case 'OutOfSpace':
      return new OutOfSpace(failure.message)
    case 'ReadOnly':
      return new ReadOnly(failure.message)
    case 'StoreLocked':
      return new StoreLocked(failure.directory, failure.pid)
    case 'DirectoryUnusable':
      return new DirectoryUnusable(failure.directory, failure.reason)
  }
}
