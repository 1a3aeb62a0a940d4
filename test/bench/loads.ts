/** What the bench asks of a server. */
import assert from 'node:assert/strict'
import type { Answer } from '../harness.ts'
import { openHttp2, type Http2Client } from '../http-client.ts'
import { job, jobsPath } from '../jobs.ts'
import type { Product } from '../product.ts'

/** Clients at the same time, each with a connection of its own. */
export const CLIENTS = 16
/** Bytes of a job in a list of v1: with its defaults and managedFields the smallest has more than the 2200 that the reference was measured with. */
export const JOB_BYTES = 2700

/** The clients of a load. */
export interface Clients extends Disposable {
  readonly all: readonly Http2Client[]
  readonly first: Http2Client
}

/** Opens the clients and their connections. */
export async function openClients(product: Product, count = CLIENTS): Promise<Clients> {
  const all = Array.from({ length: count }, () => openHttp2(product.url, product.identity))
  await Promise.all(all.map((client) => client.send('GET', '/version')))
  return {
    all,
    first: all[0] as Http2Client,
    [Symbol.dispose]: () => all.forEach((client) => client[Symbol.dispose]()),
  }
}

/** Does `task` for 0 … count - 1, each client one at a time. */
export async function spread(clients: Clients, count: number, task: (client: Http2Client, i: number) => Promise<unknown>): Promise<void> {
  let next = 0
  await Promise.all(
    clients.all.map(async (client) => {
      while (next < count) await task(client, next++)
    }),
  )
}

/** Holds that an answer has the status. */
export async function expect(status: number, answer: Promise<Answer>): Promise<Answer> {
  const got = await answer
  assert.equal(got.status, status, got.text)
  return got
}

export const jobName = (i: number): string => `job-${String(i).padStart(6, '0')}`

/** Bytes to add to a job, so that it has JOB_BYTES in a list. */
export async function findPadding(client: Http2Client): Promise<number> {
  const { text } = await expect(201, client.send('POST', `${jobsPath('v1')}?dryRun=All`, { body: padded(0, 0) }))
  return JOB_BYTES - Buffer.byteLength(text)
}

/** Job number `i`, with the padding where every version shows it. */
export function padded(i: number, padding: number): object {
  return job(jobName(i), { metadata: { labels: { team: `team-${i % 10}` }, annotations: { 'bench.example/note': 'x'.repeat(padding) } } })
}

const MERGE = 'application/merge-patch+json'

/** One request of each kind on a job that exists. */
export const requests = {
  get: (client: Http2Client, i: number) => expect(200, client.send('GET', `${jobsPath('v1')}/${jobName(i)}`)),
  create: (client: Http2Client, i: number, padding: number) => expect(201, client.send('POST', jobsPath('v1'), { body: padded(i, padding) })),
  patch: (client: Http2Client, i: number, text: string, version = 'v1') =>
    expect(200, client.send('PATCH', `${jobsPath(version)}/${jobName(i)}`, { type: MERGE, body: { metadata: { annotations: { 'bench.example/patch': text } } } })),
  /** `object` as it was read; the answer is the next one. */
  updateStatus: (client: Http2Client, object: { readonly metadata: { readonly name: string } }, text: string) =>
    expect(200, client.send('PUT', `${jobsPath('v1')}/${object.metadata.name}/status`, { body: { ...object, status: { phase: 'Running', reason: 'Running', message: text } } })),
  delete: (client: Http2Client, i: number) => expect(200, client.send('DELETE', `${jobsPath('v1')}/${jobName(i)}`)),
}

/** A list, read to its end and thrown away. */
export async function list(client: Http2Client, version: string, options: { readonly accept?: string; readonly query?: string } = {}): Promise<void> {
  await expect(200, client.send('GET', `${jobsPath(version)}${options.query ?? ''}`, { discard: true, headers: options.accept === undefined ? {} : { accept: options.accept } }))
}

/** Bytes of a watch-list, up to the mark that the initial events are done. */
export function watchList(client: Http2Client): Promise<void> {
  return readWatch(client, `${jobsPath('v1')}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`, 'k8s.io/initial-events-end').done
}

/** A watch whose bytes are only searched for a text that ends it. */
export interface PlainWatch {
  /** Resolves when the server has answered. */
  readonly open: Promise<void>
  /** Resolves when the text was seen; rejects when the watch ends before. */
  readonly done: Promise<void>
}

/** Watches until `mark` comes. */
export function readWatch(client: Http2Client, path: string, mark: string): PlainWatch {
  const stream = client.open({ ':path': path })
  const open = new Promise<void>((resolve, reject) => {
    stream.once('response', (headers) => (headers[':status'] === 200 ? resolve() : reject(new Error(`watch: ${headers[':status']}`))))
    stream.once('error', reject)
  })
  const done = new Promise<void>((resolve, reject) => {
    let tail = ''
    stream.on('data', (chunk: Buffer) => {
      const text = tail + chunk.toString('latin1')
      tail = text.slice(-mark.length)
      if (!text.includes(mark)) return
      stream.close()
      resolve()
    })
    stream.once('error', reject)
    stream.once('close', () => reject(new Error('the watch ended early')))
  })
  done.catch(() => {})
  return { open, done }
}
