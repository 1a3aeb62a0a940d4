/**
 * kill -9 of the whole server while several clients write and two watch, some times over on one data directory. After each restart every
 * acknowledged write is there, at most the write under way is added, and the watches, resumed from the last revision that they saw, have seen
 * every change once and in order.
 */
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { openHttp2, type EventStream, type Http2Client } from '../http-client.ts'
import { job, jobsPath } from '../jobs.ts'
import { startProduct, temporaryDirectory, type Product } from '../product.ts'

const CLIENTS = 6
const MERGE = 'application/merge-patch+json'

/** What a client knows of an object of its own. */
interface Known {
  /** The last acknowledged write; revision 0: none, undefined: a deletion. */
  acknowledged: { readonly seq: string; readonly revision: number | undefined }
  /** The write whose answer never came. */
  pending: { readonly seq: string; readonly deletion: boolean } | undefined
}

/** A change as a watch shows it. */
interface Change {
  readonly type: string
  readonly name: string
  readonly seq: string
  readonly revision: number
}

/** Runs the rounds; returns what happened, for a person to read. */
export async function killServer(rounds: number): Promise<string> {
  using directory = temporaryDirectory('kill-server-')
  const known = new Map<string, Known>()
  const acknowledged = new Map<number, { readonly name: string; readonly seq: string }>()
  const starts: number[] = []
  let product = await startProduct(directory.path)
  try {
    const first = await listRevision(product)
    const watches = [new ResumedWatch('v1', first), new ResumedWatch('v1alpha1', first)]
    for (let round = 0; round < rounds; round++) {
      for (const watch of watches) watch.follow(product)
      const writers = Array.from({ length: CLIENTS }, (_, i) => write(product, `${round}-${i}`, known, acknowledged))
      await sleep(300 + ((round * 137) % 700))
      const { signal, stderr } = await product.stop('SIGKILL')
      assert.equal(signal, 'SIGKILL', stderr)
      await Promise.all(writers)
      await Promise.all(watches.map((watch) => watch.ended))

      product = await startProduct(directory.path)
      starts.push(product.readyMs)
      const last = await checkState(product, known, round)
      for (const watch of watches) {
        watch.follow(product)
        await watch.until(last)
        watch.check(acknowledged, known)
        await watch.leave()
      }
    }
    const { code, stderr } = await product.stop('SIGINT')
    assert.equal(code, 0, stderr)
  } finally {
    await product[Symbol.asyncDispose]()
  }
  const slowest = Math.max(...starts)
  assert.ok(slowest < 10_000, `a start after a kill took ${slowest} ms`)
  return `${acknowledged.size} acknowledged writes, ${rounds} kills, the slowest start after one ${Math.round(slowest)} ms`
}

async function listRevision(product: Product): Promise<number> {
  using client = product.connect()
  const { body } = await client.send('GET', jobsPath('v1'))
  return Number(body.metadata.resourceVersion)
}

/** Creates, updates in both ways and deletes objects of its own until the connection breaks. */
async function write(product: Product, id: string, known: Map<string, Known>, acknowledged: Map<number, { readonly name: string; readonly seq: string }>): Promise<void> {
  using client = openHttp2(product.url, product.identity)
  for (let i = 0; ; i++) {
    const name = `job-${id}-${i}`
    const path = `${jobsPath('v1')}/${name}`
    const state: Known = { acknowledged: { seq: '', revision: 0 }, pending: undefined }
    known.set(name, state)
    const send = async (seq: string, deletion: boolean, ...request: Parameters<Http2Client['send']>) => {
      state.pending = { seq, deletion }
      const answer = await client.send(...request)
      assert.ok(answer.status === 200 || answer.status === 201, `${request[0]} ${name}: ${answer.status} ${answer.text}`)
      const revision = deletion ? undefined : Number(answer.body.metadata.resourceVersion)
      state.acknowledged = { seq, revision }
      state.pending = undefined
      if (revision !== undefined) acknowledged.set(revision, { name, seq })
      return answer.body
    }
    try {
      const created = await send('1', false, 'POST', jobsPath('v1'), { body: job(name, { metadata: { labels: { seq: '1' } } }) })
      await send('2', false, 'PUT', path, { body: { ...created, metadata: { ...created.metadata, labels: { seq: '2' } } } })
      await send('3', false, 'PATCH', path, { type: MERGE, body: { metadata: { labels: { seq: '3' } } } })
      await send('3', false, 'PATCH', `${path}/status`, { type: MERGE, body: { status: { phase: 'Running', reason: 'Running' } } })
      if (i % 3 === 0) await send('3', true, 'DELETE', path)
    } catch (error) {
      if (error instanceof assert.AssertionError) throw error
      return
    }
  }
}

/** Holds the stored objects against what the clients know; writes one more and returns its revision, above all others. */
async function checkState(product: Product, known: Map<string, Known>, round: number): Promise<number> {
  using client = product.connect()
  const { body } = await client.send('GET', jobsPath('v1'))
  const stored = new Map<string, { seq: string; revision: number }>()
  for (const { metadata } of body.items) stored.set(metadata.name, { seq: metadata.labels.seq, revision: Number(metadata.resourceVersion) })
  for (const [name, { acknowledged: last, pending }] of known) {
    const found = stored.get(name)
    const unchanged = found === undefined ? last.revision === undefined || last.revision === 0 : found.revision === last.revision && found.seq === last.seq
    const further = pending !== undefined && (pending.deletion ? found === undefined : found !== undefined && found.seq === pending.seq && found.revision > (last.revision ?? 0))
    assert.ok(unchanged || further, `${name}: stored ${JSON.stringify(found)}, acknowledged ${JSON.stringify(last)}, pending ${JSON.stringify(pending)}`)
  }
  assert.deepEqual([...stored.keys()].filter((name) => !known.has(name)), [])
  const name = `mark-${round}`
  const mark = await client.send('POST', jobsPath('v1'), { body: job(name, { metadata: { labels: { seq: '1' } } }) })
  assert.equal(mark.status, 201, mark.text)
  const revision = Number(mark.body.metadata.resourceVersion)
  assert.ok(Number(body.metadata.resourceVersion) < revision)
  known.set(name, { acknowledged: { seq: '1', revision }, pending: undefined })
  return revision
}

/** A client that watches for ever: from its last revision after each break. */
class ResumedWatch {
  readonly changes: Change[] = []
  ended: Promise<void> = Promise.resolve()
  readonly #version: string
  #revision: number
  #stream: EventStream | undefined
  #client: Http2Client | undefined
  #wake = (): void => {}

  constructor(version: string, revision: number) {
    this.#version = version
    this.#revision = revision
  }

  follow(product: Product): void {
    this.#client = product.connect()
    this.#stream = this.#client.watch(`${jobsPath(this.#version)}?watch=true&allowWatchBookmarks=true&resourceVersion=${this.#revision}`)
    this.ended = this.#read(this.#stream)
  }

  async #read(stream: EventStream): Promise<void> {
    try {
      for await (const { type, object } of stream) {
        assert.notEqual(type, 'ERROR', JSON.stringify(object))
        const revision = Number(object.metadata.resourceVersion)
        if (type !== 'BOOKMARK') this.changes.push({ type, name: object.metadata.name, seq: object.metadata.labels?.seq, revision })
        assert.ok(type === 'BOOKMARK' ? revision >= this.#revision : revision > this.#revision, `revision ${revision} after ${this.#revision}`)
        this.#revision = revision
        this.#wake()
      }
    } catch (error) {
      if (error instanceof assert.AssertionError) throw error
    }
  }

  async until(revision: number): Promise<void> {
    const reached = new Promise<void>((resolve) => {
      this.#wake = () => {
        if (this.#revision >= revision) resolve()
      }
      this.#wake()
    })
    const late = sleep(20_000, undefined, { ref: false }).then(() => assert.fail(`the watch of ${this.#version} stands at ${this.#revision}, and ${revision} is written`))
    await Promise.race([reached, late, this.ended.then(() => assert.fail('the watch ended'))])
  }

  async leave(): Promise<void> {
    this.#stream?.close()
    await this.ended
    this.#client?.[Symbol.dispose]()
  }

  /** Every acknowledged write was seen, at its revision and with its content; and what was seen ends in what is known. */
  check(acknowledged: ReadonlyMap<number, { readonly name: string; readonly seq: string }>, known: ReadonlyMap<string, Known>): void {
    const seen = new Map(this.changes.map((change) => [change.revision, change]))
    assert.equal(seen.size, this.changes.length)
    for (const [revision, { name, seq }] of acknowledged) {
      const change = seen.get(revision)
      assert.deepEqual({ name: change?.name, seq: change?.seq }, { name, seq }, `revision ${revision}`)
    }
    const alive = new Map<string, Change>()
    for (const change of this.changes) {
      assert.equal(alive.has(change.name), change.type !== 'ADDED', `${change.type} of ${change.name} at ${change.revision}`)
      if (change.type === 'DELETED') alive.delete(change.name)
      else alive.set(change.name, change)
    }
    for (const [name, { acknowledged: last, pending }] of known) {
      if (pending !== undefined) continue
      assert.equal(alive.get(name)?.revision, last.revision, name)
    }
  }
}
