/**
 * The worker thread of the embedded store: the only one that touches the database. Each turn takes all calls that have come in during the
 * one before, so that their writes share a transaction.
 */
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import { isFull, openDirectory } from './sqlite-directory.ts'
import { DirectoryUnusable, StoreLocked } from './sqlite-protocol.ts'
import type { Call, Failure, Hello, Reply, WorkerStart } from './sqlite-protocol.ts'
import { prepareReads } from './sqlite-reads.ts'
import type { Room } from './sqlite-room.ts'
import { Service } from './sqlite-service.ts'
import type { Store } from './sqlite-service.ts'
import { prepareSweep } from './sqlite-sweep.ts'
import { createTables, readMeta } from './sqlite-tables.ts'
import { prepareWrites } from './sqlite-writes.ts'
import type { Writes } from './sqlite-writes.ts'

const port = parentPort!

function openStore({ directory: path, firstRevision, orReadOnly = false }: WorkerStart): Store {
  const directory = openDirectory(path, orReadOnly)
  const { database } = directory
  try {
    createTables(database, path, firstRevision)
    const writes = prepareWrites(database)
    if (!directory.readOnly) {
      endLeases(writes, directory.room)
      directory.room.keep()
    }
    return { directory, writes, reads: prepareReads(database), sweep: prepareSweep(database), compactedRevision: readMeta(database, 'compacted') }
  } catch (err) {
    directory.close()
    throw err
  }
}

// A full disk must not keep the store from being opened.
function endLeases(writes: Writes, room: Room): void {
  try {
    writes.endLeases()
  } catch (err) {
    if (!isFull(err)) throw err
    writes.relieve()
    room.release()
    writes.endLeases()
  }
}

function serve(store: Store): void {
  const post = (replies: readonly Reply[]): void => {
    if (replies.length > 0) port.postMessage(replies)
  }
  const service = new Service(store, post)
  let due = false
  const turn = (first: readonly Call[]): void => {
    const calls = [...first]
    for (let received; (received = receiveMessageOnPort(port)); ) calls.push(...(received.message as Call[]))
    const state = service.turn(calls)
    if (state === 'closed') port.close()
    if (state !== 'more' || due) return
    due = true
    setImmediate(() => {
      due = false
      turn([])
    })
  }
  port.on('message', turn)
  turn([])
}

function start(options: WorkerStart): void {
  const greet = (hello: Hello): void => port.postMessage(hello)
  let store: Store
  try {
    store = openStore(options)
  } catch (err) {
    return greet({ failure: toOpenFailure(err, options.directory) })
  }
  greet({ revision: store.writes.revision, compactedRevision: store.compactedRevision })
  serve(store)
}

function toOpenFailure(err: unknown, directory: string): Failure {
  if (err instanceof StoreLocked) return { kind: 'StoreLocked', directory, pid: err.pid }
  if (err instanceof DirectoryUnusable) return { kind: 'DirectoryUnusable', directory, reason: err.reason }
  return { kind: 'DirectoryUnusable', directory, reason: err instanceof Error ? err.message : String(err) }
}

start(workerData as WorkerStart)
