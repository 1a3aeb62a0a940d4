/** A client of the crash campaign that watches for ever, from the last revision that it has seen after each break. */
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import type { JobChange } from '../fault/migration-history.ts'
import type { EventStream } from '../http-client.ts'
import { jobsPath } from '../jobs.ts'
import type { Running } from './crash-writer.ts'

/** A change as a watch shows it, on one line. */
const shown = (type: string, { name, uid, generation, annotations }: { name: string; uid?: string; generation?: number; annotations?: { note?: string } }, revision: number): string =>
  `${revision} ${type} ${name} ${annotations?.note} ${uid} ${generation}`

export class ForeverWatch {
  readonly changes: string[] = []
  breaks = 0
  readonly #version: string
  readonly #running: Running
  readonly #done: Promise<void>
  #revision: number
  #stopped = false
  #stream: EventStream | undefined
  #failure: unknown

  /** Watches a version from a revision on, by turns through the replicas. */
  constructor(version: string, revision: number, running: Running) {
    this.#version = version
    this.#revision = revision
    this.#running = running
    this.#done = this.#follow().catch((error: unknown) => {
      this.#failure = error
    })
  }

  async #follow(): Promise<void> {
    for (; !this.#stopped; this.breaks++) {
      const products = this.#running()
      const product = products[this.breaks % products.length]
      if (product) {
        using client = product.connect()
        this.#stream = client.watch(`${jobsPath(this.#version)}?watch=true&allowWatchBookmarks=true&resourceVersion=${this.#revision}`)
        try {
          await this.#read(this.#stream)
        } catch (error) {
          if (error instanceof assert.AssertionError) throw error
        }
      }
      if (!this.#stopped) await sleep(100)
    }
  }

  async #read(stream: EventStream): Promise<void> {
    for await (const { type, object } of stream) {
      if (type === undefined || type === 'ERROR') {
        const { code, message } = type === undefined ? (object ?? {}) : object
        assert.notEqual(code, 410, message)
        return
      }
      const revision = Number(object.metadata.resourceVersion)
      assert.ok(type === 'BOOKMARK' ? revision >= this.#revision : revision > this.#revision, `${type} at ${revision} after ${this.#revision}`)
      this.#revision = revision
      if (type !== 'BOOKMARK') this.changes.push(shown(type, object.metadata, revision))
    }
  }

  /** Waits until it has seen a revision, then ends it, and holds that it has seen what the log says. */
  async check(revision: number, log: readonly JobChange[]): Promise<void> {
    for (let i = 0; this.#revision < revision && this.#failure === undefined; i++) {
      assert.ok(i < 1200, `the watch of ${this.#version} stands at ${this.#revision}, and ${revision} is written`)
      await sleep(25)
    }
    await this.stop()
    if (this.#failure !== undefined) throw this.#failure
    assert.deepEqual(this.changes, log.filter((change) => change.revision <= this.#revision).map(({ type, hub, revision: at }) => shown(type, hub.metadata as Parameters<typeof shown>[1], at)))
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#stream?.close()
    await this.#done
  }
}
