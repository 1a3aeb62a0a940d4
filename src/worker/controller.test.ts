import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../api/object.ts'
import { silentLog } from '../base/log.ts'
import { AsyncQueue } from './async-queue.ts'
import { runController } from './controller.ts'
import type { AttemptRequest, Executor, Observation } from './executor.ts'
import { type FakeClock, fakeClock, settle } from './fake-clock.fixture.ts'
import { makeJob, makeReport } from './job.fixture.ts'
import { type Job, keyOf } from './job.ts'
import { ApiError, type JobClient, type WatchEvent } from './job-client.ts'

/** The API in memory: what a server does with jobs, as far as the worker can see. */
class FakeApi implements JobClient {
  readonly jobs = new Map<string, Job>()
  readonly events: JsonObject[] = []
  readonly statuses: string[] = []
  readonly watchers = new Set<AsyncQueue<WatchEvent | Error>>()
  failNext: Error | undefined
  /** Watch events come after the answers to the writes that made them, and not before. */
  late = false
  private revision = 1

  put(job: Job): Job {
    const stored = { ...job, metadata: { ...job.metadata, resourceVersion: String(++this.revision) } }
    const type = this.jobs.has(keyOf(job)) ? 'MODIFIED' : 'ADDED'
    this.jobs.set(keyOf(job), stored)
    this.tell({ type, object: stored })
    return stored
  }

  drop(key: string): void {
    const job = this.jobs.get(key)!
    this.jobs.delete(key)
    this.tell({ type: 'DELETED', object: { ...job, metadata: { ...job.metadata, resourceVersion: String(++this.revision) } } })
  }

  tell(event: WatchEvent | Error): void {
    const send = (): void => {
      for (const watcher of this.watchers) watcher.push(event)
    }
    if (this.late) setImmediate(() => setImmediate(send))
    else send()
  }

  get(name: string): Job {
    return this.jobs.get(`default/${name}`)!
  }

  async list() {
    return { items: [...this.jobs.values()], resourceVersion: String(this.revision) }
  }

  async *watch(_resourceVersion: string, signal: AbortSignal): AsyncGenerator<WatchEvent> {
    const queue = new AsyncQueue<WatchEvent | Error>()
    this.watchers.add(queue)
    signal.addEventListener('abort', () => queue.close())
    try {
      for await (const event of queue) {
        if (event instanceof Error) throw event
        yield event
      }
    } finally {
      this.watchers.delete(queue)
    }
  }

  async patchStatus(namespace: string, name: string, patch: JsonObject): Promise<Job> {
    const failure = this.failNext
    this.failNext = undefined
    if (failure) throw failure
    const job = this.jobs.get(`${namespace}/${name}`)
    if (!job) throw new ApiError(404, 'NotFound', 'gone')
    if ((patch.metadata as JsonObject).uid !== job.metadata.uid) throw new ApiError(409, 'Conflict', 'Precondition failed: UID in precondition')
    const status = merge((job.status ?? {}) as JsonObject, patch.status as JsonObject)
    const stored = this.put({ ...job, status: status as Job['status'] & {} })
    this.statuses.push(`${name} ${stored.status?.phase} ${stored.status?.reason}`)
    return stored
  }

  async delete(namespace: string, name: string, { uid, resourceVersion }: { uid: string; resourceVersion: string }): Promise<void> {
    const { metadata } = this.jobs.get(`${namespace}/${name}`)!
    if (metadata.uid !== uid || metadata.resourceVersion !== resourceVersion) throw new ApiError(409, 'Conflict', 'changed')
    this.drop(`${namespace}/${name}`)
  }

  async readSecret() {
    return undefined
  }

  async createEvent(_namespace: string, event: JsonObject): Promise<void> {
    this.events.push(event)
  }

  async patchEvent(_namespace: string, name: string, patch: JsonObject): Promise<void> {
    const index = this.events.findIndex((event) => (event.metadata as JsonObject).name === name)
    this.events[index] = merge(this.events[index]!, patch)
  }

  reasons(): string[] {
    return this.events.map(({ reason }) => String(reason))
  }
}

function merge(target: JsonObject, patch: JsonObject): JsonObject {
  const out = { ...target }
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete out[key]
    else out[key] = typeof value === 'object' && !Array.isArray(value) ? merge((out[key] ?? {}) as JsonObject, value as JsonObject) : value!
  }
  return out
}

/** An executor whose attempts do what the test says. */
class FakeExecutor implements Executor {
  readonly requests: AttemptRequest[] = []
  readonly live = new Map<string, AsyncQueue<Observation>>()
  readonly cancelled: string[] = []

  start(request: AttemptRequest): void {
    this.requests.push(request)
    this.live.set(request.id, new AsyncQueue())
  }

  observe(id: string) {
    return this.live.get(id)
  }

  async cancel(id: string): Promise<void> {
    const queue = this.live.get(id)
    if (!queue) return
    this.cancelled.push(id)
    queue.close()
    this.live.delete(id)
  }

  async close(): Promise<void> {
    await Promise.all([...this.live.keys()].map((id) => this.cancel(id)))
  }

  see(id: string, ...observations: Observation[]): void {
    const queue = this.live.get(id)
    assert.ok(queue, `attempt ${id} does not live`)
    for (const observation of observations) queue.push(observation)
    if (observations.some(({ type }) => type === 'finished' || type === 'failed')) {
      queue.close()
      this.live.delete(id)
    }
  }
}

type World = { api: FakeApi; executor: FakeExecutor; clock: FakeClock; stop(): Promise<void>; stopped: Promise<void> }

async function withController(jobs: Job[], body: (world: World) => Promise<void>, concurrency = 2): Promise<void> {
  const [api, executor, clock, abort] = [new FakeApi(), new FakeExecutor(), fakeClock(), new AbortController()]
  for (const job of jobs) api.put(job)
  const stopped = runController({ client: api, executor, concurrency, clock, log: silentLog, signal: abort.signal })
  const stop = async (): Promise<void> => {
    abort.abort()
    await settle()
    await stopped
  }
  try {
    await settle()
    await body({ api, executor, clock, stop, stopped })
  } finally {
    await stop()
  }
}

const cloning = (clock: FakeClock): Observation => ({ type: 'cloning', at: clock.now() })
const source = { type: 'source', commit: 'c'.repeat(40) } as const
const started = { type: 'started', runtime: { kernelName: 'python3', language: 'python', nbformat: '4.5' } } as const
const finished = (reason?: string): Observation => ({ type: 'finished', report: makeReport(reason) })
const lost = { type: 'failed', failure: { reason: 'RunnerUnavailable', message: 'no network', class: 'Infrastructure' } } as const

test('a job from its creation to its end', async () => {
  await withController([makeJob()], async ({ api, executor, clock }) => {
    assert.equal(executor.requests[0]?.id, 'uid-a.1')
    executor.see('uid-a.1', cloning(clock), source, started)
    await clock.advance(2_000)
    assert.equal(api.get('a').status?.reason, 'Running')
    assert.deepEqual(api.get('a').status?.source, { commit: 'c'.repeat(40) })
    executor.see('uid-a.1', finished())
    await settle()
    const { status } = api.get('a')
    assert.deepEqual([status?.phase, status?.reason, status?.attempts, status?.summary?.cells], ['Succeeded', 'Validated', 1, '1/1'])
    assert.deepEqual(api.reasons(), ['Started', 'Cloned', 'Succeeded'])
    await clock.advance(60_000)
    assert.equal(executor.requests.length, 1, 'it is not run again')
  })
})

test('while it runs the status is written at most every two seconds', async () => {
  await withController([makeJob()], async ({ api, executor, clock }) => {
    executor.see('uid-a.1', cloning(clock), source, started)
    const record = (index: number): Observation => ({ type: 'record', bytes: 10, record: { type: 'cell', index, outcome: 'Succeeded', durationMilliseconds: 1, outputs: [] } })
    executor.see('uid-a.1', { type: 'record', bytes: 9, record: { type: 'notebook', ...started.runtime, cells: Array.from({ length: 100 }, (_, index) => ({ index, id: `c${index}`, type: 'Code', tags: [], source: '1' })) } })
    for (let i = 0; i < 100; i++) {
      executor.see('uid-a.1', record(i))
      await clock.advance(100)
    }
    const writes = api.statuses.filter((text) => text.endsWith('Running')).length
    assert.ok(writes >= 4 && writes <= 5, `${writes} writes in 10 s`)
    assert.equal(api.get('a').status?.summary?.succeeded !== 0, true, 'cells appear while it runs')
    executor.see('uid-a.1', finished())
    await settle()
    assert.equal(api.get('a').status?.phase, 'Succeeded', 'the end is written at once')
  })
})

test('no more attempts than slots, the oldest job first', async () => {
  const jobs = ['c', 'a', 'b'].map((name, i) => {
    const job = makeJob({ name })
    return { ...job, metadata: { ...job.metadata, creationTimestamp: `2026-01-01T00:00:0${i}Z` } }
  })
  await withController(
    jobs,
    async ({ api, executor, clock }) => {
      assert.deepEqual([...executor.live.keys()], ['uid-c.1'])
      assert.match(api.get('b').status?.message ?? '', /waiting until other jobs/)
      executor.see('uid-c.1', cloning(clock), source, finished('NotebookFailed'))
      await settle()
      assert.deepEqual([...executor.live.keys()], ['uid-a.1'])
    },
    1,
  )
})

test('trouble of the infrastructure is tried again, after a while, up to the limit', async () => {
  await withController([makeJob({ spec: { backoffLimit: 1 } })], async ({ api, executor, clock }) => {
    executor.see('uid-a.1', cloning(clock), lost)
    await settle()
    assert.equal(api.get('a').status?.reason, 'Retrying')
    await clock.advance(9_900)
    assert.equal(executor.requests.length, 1)
    await clock.advance(200)
    assert.equal(executor.requests[1]?.id, 'uid-a.2')
    executor.see('uid-a.2', cloning(clock), lost)
    await settle()
    const { status } = api.get('a')
    assert.deepEqual([status?.phase, status?.reason, status?.attempts], ['Failed', 'RunnerUnavailable', 2])
    assert.deepEqual(api.reasons(), ['Started', 'Retrying', 'Started', 'Failed'])
  })
})

test('a notebook that kills its runner is run twice, not until the limit', async () => {
  await withController([makeJob({ spec: { backoffLimit: 5 } })], async ({ api, executor, clock }) => {
    executor.see('uid-a.1', cloning(clock), lost)
    await clock.advance(11_000)
    executor.see('uid-a.2', cloning(clock), source, started, finished('RunnerUnavailable'))
    await clock.advance(21_000)
    assert.equal(executor.requests[2]?.id, 'uid-a.3', 'a failed clone has not used up its chance')
    executor.see('uid-a.3', cloning(clock), source, started, finished('RunnerUnavailable'))
    await settle()
    assert.deepEqual([api.get('a').status?.phase, api.get('a').status?.reason, executor.requests.length], ['Failed', 'RunnerUnavailable', 3])
  })
})

test('a job that was running when its worker died is run again', async () => {
  const status = { phase: 'Running', reason: 'Running', attempts: 1, startTime: '2025-12-31T23:59:00Z', cells: [{ index: 0, outcome: 'Succeeded' }] } as const
  await withController([makeJob({ status: { ...status, cells: [...status.cells] } })], async ({ api, executor, clock }) => {
    assert.equal(executor.requests[0]?.id, 'uid-a.2')
    assert.equal(api.get('a').status?.cells, undefined, 'results of the lost attempt are gone')
    executor.see('uid-a.2', cloning(clock), source, finished())
    await settle()
    assert.equal(api.get('a').status?.phase, 'Succeeded')
  })
})

test('the deadline ends a job with what is known of its cells', async () => {
  await withController([makeJob({ spec: { activeDeadlineSeconds: 60 } })], async ({ api, executor, clock }) => {
    executor.see('uid-a.1', cloning(clock), source, started)
    executor.see('uid-a.1', { type: 'record', bytes: 9, record: { type: 'notebook', ...started.runtime, cells: [0, 1].map((index) => ({ index, id: 'x', type: 'Code', tags: [], source: '1' })) } })
    executor.see('uid-a.1', { type: 'record', bytes: 9, record: { type: 'cell-start', index: 0 } })
    await clock.advance(61_000)
    const { status } = api.get('a')
    assert.deepEqual([status?.phase, status?.reason, status?.message], ['Failed', 'DeadlineExceeded', 'the job did not end within 60 s'])
    assert.deepEqual(status?.cells?.map(({ outcome, error }) => `${outcome} ${error?.message}`), [
      'TimedOut was still running at the deadline of the job and was stopped (activeDeadlineSeconds is 60, its last seconds are kept for the report)',
      'NotRun not run: the deadline of the job came before',
    ])
    assert.deepEqual(executor.cancelled, ['uid-a.1'])
  })
})

test('the duration is told soon, then every ten seconds, while a long cell runs', async () => {
  await withController([makeJob()], async ({ api, executor, clock }) => {
    executor.see('uid-a.1', cloning(clock), source, started)
    executor.see('uid-a.1', { type: 'record', bytes: 9, record: { type: 'notebook', ...started.runtime, cells: [{ index: 0, id: 'x', type: 'Code', tags: [], source: '1' }] } })
    executor.see('uid-a.1', { type: 'record', bytes: 9, at: clock.now(), record: { type: 'cell-start', index: 0 } })
    await clock.advance(3_000)
    assert.ok((api.get('a').status?.summary?.durationMilliseconds ?? 0) >= 1_000)
    await clock.advance(37_000)
    const writes = api.statuses.length
    assert.ok((api.get('a').status?.summary?.durationMilliseconds ?? 0) >= 30_000)
    await clock.advance(30_000)
    assert.equal(api.statuses.length, writes + 3)
  })
})

test('a deleted job takes its attempt along, and one made again under its name is another job', async () => {
  await withController([makeJob()], async ({ api, executor }) => {
    api.drop('default/a')
    await settle()
    assert.deepEqual(executor.cancelled, ['uid-a.1'])
    api.put(makeJob({ uid: 'other' }))
    await settle()
    assert.deepEqual([...executor.live.keys()], ['other.1'])
    // while nobody was looking, both at once
    api.jobs.clear()
    api.put(makeJob({ uid: 'third' }))
    await settle()
    assert.deepEqual([...executor.live.keys()], ['third.1'])
  })
})

test('suspend ends the attempt, resume begins a new one', async () => {
  await withController([makeJob()], async ({ api, executor, clock }) => {
    executor.see('uid-a.1', cloning(clock))
    await clock.advance(2_000)
    api.put({ ...api.get('a'), spec: { ...api.get('a').spec, suspend: true } })
    await settle()
    assert.deepEqual([api.get('a').status?.reason, api.get('a').status?.startTime, executor.cancelled], ['Suspended', undefined, ['uid-a.1']])
    api.put({ ...api.get('a'), spec: { ...api.get('a').spec, suspend: false } })
    await settle()
    assert.equal(executor.live.size, 1)
  })
})

for (const late of [false, true]) {
  test(`a finished job is deleted when its time to live has passed, with watch events ${late ? 'after' : 'before'} the answers`, async () => {
    await withController([makeJob({ spec: { ttlSecondsAfterFinished: 30 } })], async ({ api, executor, clock }) => {
      api.late = late
      executor.see('uid-a.1', cloning(clock), source)
      await clock.advance(3_000)
      executor.see('uid-a.1', finished())
      await settle()
      await clock.advance(29_000)
      assert.equal(api.jobs.size, 1)
      await clock.advance(2_000)
      assert.equal(api.jobs.size, 0)
      assert.equal(executor.requests.length, 1)
    })
  })
}

test('a stop puts running jobs back and leaves nothing alive', async () => {
  await withController([makeJob()], async ({ api, executor, clock, stop }) => {
    executor.see('uid-a.1', cloning(clock), source)
    await clock.advance(2_000)
    await stop()
    assert.deepEqual([api.get('a').status?.phase, api.get('a').status?.reason, api.get('a').status?.attempts], ['Pending', 'Pending', 0])
    assert.equal(executor.live.size, 0)
  })
})

test('writes that fail come again; results that are refused are never a success', async () => {
  await withController([makeJob()], async ({ api, executor, clock }) => {
    executor.see('uid-a.1', cloning(clock), source)
    await clock.advance(2_000)
    api.failNext = new ApiError(500, 'InternalError', 'not now')
    executor.see('uid-a.1', finished())
    await clock.advance(1_000)
    assert.equal(api.get('a').status?.phase, 'Succeeded')
  })
  await withController([makeJob()], async ({ api, executor, clock }) => {
    executor.see('uid-a.1', cloning(clock), source)
    await clock.advance(2_000)
    api.failNext = new ApiError(422, 'Invalid', 'status.cells: Too many')
    executor.see('uid-a.1', finished())
    await clock.advance(1_000)
    const { status } = api.get('a')
    assert.deepEqual([status?.phase, status?.reason, status?.cells], ['Failed', 'ResultsUnavailable', undefined])
    assert.match(status?.message ?? '', /could not be stored: status.cells: Too many/)
    assert.equal(status?.conditions?.find(({ type }) => type === 'Succeeded')?.status, 'False')
  })
})

test('an attempt does not start before it is counted', async () => {
  const [api, executor, clock, abort] = [new FakeApi(), new FakeExecutor(), fakeClock(), new AbortController()]
  api.put(makeJob())
  api.failNext = new ApiError(500, 'InternalError', 'down')
  const stopped = runController({ client: api, executor, concurrency: 1, clock, log: silentLog, signal: abort.signal })
  await settle()
  assert.equal(executor.requests.length, 0)
  await clock.advance(200)
  assert.equal(executor.requests.length, 1)
  abort.abort()
  await settle()
  await stopped
})

test('a watch that breaks off is resumed, one that is too old is listed again', async () => {
  await withController([], async ({ api, executor, clock }) => {
    api.tell(new Error('connection reset'))
    await settle()
    assert.equal(api.watchers.size, 0)
    await clock.advance(1_000)
    assert.equal(api.watchers.size, 1)
    api.tell(new ApiError(410, 'Expired', 'too old resource version'))
    await settle()
    api.put(makeJob())
    await clock.advance(5_000)
    assert.equal(executor.requests.length, 1)
  })
})

test('pod settings that mean nothing here are told once', async () => {
  await withController([makeJob({ spec: { podTemplate: { image: 'mine', nodeSelector: { gpu: 'yes' } } } })], async ({ api }) => {
    const told = api.events.filter(({ reason }) => reason === 'PodTemplateIgnored')
    assert.equal(told.length, 1)
    assert.match(String(told[0]?.message), /spec.podTemplate.image, spec.podTemplate.nodeSelector mean nothing here/)
    assert.deepEqual(told[0]?.involvedObject, { apiVersion: 'mlops.dev/v1', kind: 'NotebookValidationJob', namespace: 'default', name: 'a', uid: 'uid-a', resourceVersion: '3' })
  })
})
