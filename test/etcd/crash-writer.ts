/** A writer of the crash campaign: jobs of its own through all versions and both replicas, and what it was told of each write. */
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { noteOf } from '../fault/migrate-crash-jobs.ts'
import type { JobChange } from '../fault/migration-history.ts'
import type { Answer } from '../harness.ts'
import type { Http2Client } from '../http-client.ts'
import { alphaJob, job, jobsPath } from '../jobs.ts'
import type { Product } from '../product.ts'

const MERGE = 'application/merge-patch+json'
const VERSIONS = ['v1alpha1', 'v1beta1', 'v1'] as const
/** Between two jobs. */
const PAUSE_MS = 30

/** One write. */
interface Attempt {
  readonly note: string
  readonly deletion: boolean
  /** Absent: nobody knows what became of it. */
  acknowledged?: { readonly revision: number | undefined; readonly uid: string; readonly generation: number }
}

/** All writes of all writers, by the key of the job. */
export type Attempts = Map<string, Attempt[]>

/** No answer, or one that says that the store or its outcome is not known: the writer leaves the job as it is. */
class Lost extends Error {}

/** The replicas that run at the moment. */
export type Running = () => readonly Product[]

/** Writes until `stopped`. */
export async function writeJobs(writer: number, running: Running, attempts: Attempts, stopped: () => boolean): Promise<void> {
  const clients = new Map<Product, Http2Client>()
  const client = (turn: number): Http2Client => {
    const products = running()
    const product = products[turn % products.length]
    if (!product) throw new Lost('no replica runs')
    for (const [other, open] of clients) if (!products.includes(other) && clients.delete(other)) open[Symbol.dispose]()
    const open = clients.get(product) ?? product.connect()
    clients.set(product, open)
    return open
  }
  for (let i = 0; !stopped(); i++) {
    try {
      await liveOf(`writer-${writer}-${i}`, i + writer, client, attempts)
      await sleep(PAUSE_MS)
    } catch (error) {
      if (!(error instanceof Lost)) throw error
      await sleep(100)
    }
  }
  for (const open of clients.values()) open[Symbol.dispose]()
}

// Create, update, patch, status patch, and for one of three delete: each through another version, and by turns through the replicas.
async function liveOf(name: string, turn: number, client: (turn: number) => Http2Client, attempts: Attempts): Promise<void> {
  const made: Attempt[] = []
  attempts.set(`default/${name}`, made)
  const version = (step: number): string => VERSIONS[(turn + step) % 3]!
  const path = (step: number): string => `${jobsPath(version(step))}/${name}`
  const write = async (step: number, request: (note: string) => Parameters<Http2Client['send']>, { deletion = false, same = false } = {}): Promise<Answer> => {
    const note = deletion || same ? (made.at(-1)?.note ?? '') : `${name}.${step}`
    const attempt: Attempt = { note, deletion }
    made.push(attempt)
    const answer = await send(client(turn + step), ...request(note))
    // Nothing was written.
    if (answer.status === 409) made.pop()
    else attempt.acknowledged = toldBy(answer, deletion)
    return answer
  }
  const body = (note: string): object => {
    const metadata = { annotations: { note } }
    return version(0) === 'v1alpha1' ? alphaJob(name, { metadata }) : { ...job(name, { metadata }), apiVersion: `mlops.dev/${version(0)}` }
  }
  assert.equal((await write(0, (note) => ['POST', jobsPath(version(0)), { body: body(note) }])).status, 201)
  // A migration may write it between the read and the update.
  for (let status = 409; status === 409; ) {
    const { body: found } = await send(client(turn), 'GET', path(1))
    ;({ status } = await write(1, (note) => ['PUT', path(1), { body: { ...found, metadata: { ...found.metadata, annotations: { note } }, spec: { ...found.spec, suspend: true } } }]))
  }
  await write(2, (note) => ['PATCH', path(2), { type: MERGE, body: { metadata: { annotations: { note } } } }])
  await write(3, () => ['PATCH', `${path(3)}/status`, { type: MERGE, body: { status: { phase: 'Running', reason: 'Running' } } }], { same: true })
  if (turn % 3 === 0) await write(4, () => ['DELETE', path(4)], { deletion: true })
}

async function send(client: Http2Client, ...request: Parameters<Http2Client['send']>): Promise<Answer> {
  const answer = await client.send(...request).catch((error: unknown) => {
    throw new Lost(String(error))
  })
  if (answer.status === 503 || answer.status === 504) throw new Lost(answer.text)
  assert.ok(answer.status < 300 || answer.status === 409, `${request[0]} ${request[1]}: ${answer.status} ${answer.text}`)
  return answer
}

function toldBy({ body }: Answer, deletion: boolean): Attempt['acknowledged'] {
  const { resourceVersion, uid, generation } = deletion && body.kind === 'Status' ? { resourceVersion: undefined, uid: body.details.uid, generation: 0 } : body.metadata
  return { revision: deletion ? undefined : Number(resourceVersion), uid, generation }
}

/** Holds what the writers were told against the log: everything acknowledged is there as it was told, and nothing that nobody asked for. Returns how many writes were acknowledged. */
export function checkAttempts(attempts: Attempts, changes: readonly JobChange[]): number {
  let acknowledged = 0
  const byKey = Map.groupBy(changes, ({ key }) => key)
  for (const [key, made] of attempts) {
    const found = byKey.get(key) ?? []
    const written = found.filter(({ migration }) => migration === undefined)
    for (const { note, deletion, acknowledged: told } of made) {
      if (!told) continue
      acknowledged++
      const change = written.find(({ type, revision }) => (deletion ? type === 'DELETED' : revision === told.revision))
      assert.ok(change, `${key}: ${deletion ? 'the deletion' : note} was acknowledged at ${told.revision} and is not in the log`)
      const { uid, generation } = change.hub.metadata
      assert.deepEqual([noteOf(change.hub), uid, deletion ? told.generation : generation], [note, told.uid, told.generation], key)
    }
    for (const { revision, type, hub } of written) {
      const asked = made.some((attempt) => attempt.deletion === (type === 'DELETED') && attempt.note === noteOf(hub) && (attempt.acknowledged?.revision ?? revision) === revision)
      assert.ok(asked, `${key}: ${type} with ${noteOf(hub)} at ${revision} is nobody's`)
    }
    assert.ok(written.length <= made.length, `${key}: ${written.length} changes, ${made.length} writes`)
    const gone = found.at(-1)?.type === 'DELETED'
    assert.ok(!gone || made.some(({ deletion }) => deletion), `${key} is gone, and nobody has deleted it`)
    assert.equal(new Set(found.map(({ hub }) => hub.metadata.uid)).size, found.length > 0 ? 1 : 0, `${key} has changed its uid`)
  }
  return acknowledged
}
