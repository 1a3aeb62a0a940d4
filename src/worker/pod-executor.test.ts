import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { silentLog } from '../base/log.ts'
import { AsyncQueue } from './async-queue.ts'
import { FakeCluster } from './cluster.fixture.ts'
import { runController } from './controller.ts'
import { type FakeClock, fakeClock, settle } from './fake-clock.fixture.ts'
import { makeJob, makeReport } from './job.fixture.ts'
import { isFinished, type Job } from './job.ts'
import { ApiError, type WatchEvent } from './job-client.ts'
import { isTerminal, podNameOf } from './pod.ts'
import { cloned, ended, makePodState, type PodShape, running, waiting } from './pod.fixture.ts'
import { openPodExecutor } from './pod-executor.ts'
import { writeReportLog } from './report-log.ts'

/** A worker that leads, whether or not it should. */
function startWorker(cluster: FakeCluster, clock: FakeClock, wait?: () => Promise<void>): { stop(): Promise<void> } {
  const abort = new AbortController()
  const { jobs, pods } = cluster.clients(wait)
  const done = (async () => {
    const executor = await openPodExecutor({ client: pods, settings: { image: 'us:1' }, clock, log: silentLog }, abort.signal)
    await runController({ client: jobs, executor, concurrency: 2, fenced: true, clock, log: silentLog, signal: abort.signal })
  })()
  return {
    async stop() {
      abort.abort()
      // a stop waits for the API, which may take its time
      for (let i = 0; i < 200 && !(await Promise.race([done.then(() => true), settle().then(() => false)])); i++) await clock.advance(1_000)
      await done
    },
  }
}

const said = ({ status }: Job): string => `${status?.phase} ${status?.reason}`
const podKeyOf = (job: Job, number: number): string => `default/${podNameOf(job, number)}`
const whole = { phase: 'Succeeded', clone: cloned, execute: ended(), report: ended() } as const

function finishPod(cluster: FakeCluster, key: string, shape: PodShape = whole, reason = 'Validated'): void {
  cluster.logs.set(cluster.pods.objects.get(key)?.metadata.uid ?? '', writeReportLog(JSON.stringify(makeReport(reason))))
  cluster.setPod(key, shape)
}

async function withWorker(run: (given: { cluster: FakeCluster; clock: FakeClock; key: (number: number) => string }) => Promise<void>, job = makeJob()): Promise<void> {
  const cluster = new FakeCluster()
  const clock = fakeClock()
  cluster.addJob(job)
  const worker = startWorker(cluster, clock)
  await clock.advance(100)
  try {
    await run({ cluster, clock, key: (number) => podKeyOf(job, number) })
  } finally {
    await worker.stop()
  }
}

test('a job from its creation to its end; its pod stays', () =>
  withWorker(async ({ cluster, clock, key }) => {
    assert.equal(said(cluster.job()), 'Pending Pending')
    assert.deepEqual(cluster.admitted.map((pod) => pod.key), [key(1)])
    cluster.setPod(key(1), { clone: running })
    await clock.advance(3_000)
    assert.equal(said(cluster.job()), 'Running Cloning')
    assert.deepEqual(cluster.job().status?.podRef, { name: podNameOf(cluster.job(), 1), uid: 'pod-1' })
    cluster.setPod(key(1), { phase: 'Running', clone: cloned, execute: running, report: running })
    await clock.advance(3_000)
    assert.equal(said(cluster.job()), 'Running Running')
    assert.equal(cluster.job().status?.source?.commit, 'c'.repeat(40))
    finishPod(cluster, key(1))
    await clock.advance(3_000)
    assert.equal(said(cluster.job()), 'Succeeded Validated')
    assert.equal(cluster.job().status?.cells?.length, 1)
    assert.equal(cluster.job().status?.podRef?.uid, 'pod-1')
    assert.ok(cluster.pods.objects.has(key(1)))
  }))

test('what a pod says ends the job, or begins the next attempt after a while', async (t) => {
  const cases: [string, PodShape, string][] = [
    ['credentials', { clone: ended(1, 'Error', JSON.stringify({ failure: { reason: 'GitAuthenticationFailed', class: 'Final', message: 'no' } })) }, 'Failed GitAuthenticationFailed'],
    ['image', { clone: waiting('InvalidImageName') }, 'Failed ImagePullFailed'],
    ['memory', { ...whole, execute: ended(0, 'OOMKilled') }, 'Failed OutOfMemory'],
    ['deadline', { phase: 'Failed', reason: 'DeadlineExceeded', clone: cloned, execute: ended(137) }, 'Failed DeadlineExceeded'],
    ['report lost', { ...whole, report: ended(1), phase: 'Failed' }, 'Failed ResultsUnavailable'],
    ['evicted', { phase: 'Failed', reason: 'Evicted' }, 'Pending Retrying'],
    ['deleted', { phase: 'Running', clone: cloned, execute: running, deleted: true }, 'Pending Retrying'],
    ['the exit status of a success', { ...whole, execute: ended(1), phase: 'Failed' }, 'Pending Retrying'],
  ]
  for (const [name, shape, expected] of cases) {
    await t.test(name, () =>
      withWorker(async ({ cluster, clock, key }) => {
        finishPod(cluster, key(1), shape)
        await clock.advance(5_000)
        assert.equal(said(cluster.job()), expected)
        const left = cluster.pods.objects.get(key(1))
        assert.ok(!left || isTerminal(left), 'a pod that had not ended is gone')
        if (expected.endsWith('Retrying')) {
          assert.equal(cluster.job().status?.podRef, undefined)
          await clock.advance(10_000)
          assert.deepEqual(cluster.admitted.map((pod) => pod.key), [key(1), key(2)])
        }
      }),
    )
  }
})

test('a log without a readable report is never a success', () =>
  withWorker(async ({ cluster, clock, key }) => {
    cluster.logs.set('pod-1', `${writeReportLog(JSON.stringify(makeReport()))}`.replace('end 1', 'end 2'))
    cluster.setPod(key(1), whole)
    await clock.advance(60_000)
    assert.equal(said(cluster.job()), 'Failed ResultsUnavailable')
  }))

test('what the pod says of its end is said without a report too', () =>
  withWorker(async ({ cluster, clock, key }) => {
    cluster.setPod(key(1), { phase: 'Failed', clone: cloned, execute: ended(137, 'OOMKilled'), report: ended(1) })
    await clock.advance(60_000)
    assert.equal(said(cluster.job()), 'Failed OutOfMemory')
  }))

test('a pod that nobody can schedule, or whose image nobody can pull, is given up in time and taken away', async () => {
  const unschedulable = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: 'no', lastTransitionTime: '2026-01-01T00:00:00Z' }
  for (const [shape, reason] of [[{ conditions: [unschedulable] }, 'Unschedulable'], [{ clone: waiting('ImagePullBackOff') }, 'ImagePullFailed']] as const) {
    await withWorker(async ({ cluster, clock, key }) => {
      cluster.setPod(key(1), shape as PodShape)
      await clock.advance(290_000)
      assert.equal(said(cluster.job()), 'Pending Pending')
      await clock.advance(12_000)
      assert.equal(said(cluster.job()), `Failed ${reason}`)
      assert.equal(cluster.pods.objects.size, 0)
      assert.equal(cluster.job().status?.conditions?.find(({ type }) => type === 'PodReady')?.reason, reason)
    })
  }
})

test('suspend takes the pod away, resume makes a new one', () =>
  withWorker(async ({ cluster, clock, key }) => {
    const suspend = (value: boolean): void => cluster.addJob({ ...cluster.job(), spec: { ...cluster.job().spec, suspend: value } })
    suspend(true)
    await clock.advance(5_000)
    assert.equal(said(cluster.job()), 'Pending Suspended')
    assert.equal(cluster.pods.objects.size, 0)
    suspend(false)
    await clock.advance(5_000)
    assert.deepEqual(cluster.admitted.map((pod) => pod.uid), ['pod-1', 'pod-2'])
    finishPod(cluster, key(1))
    await clock.advance(5_000)
    assert.equal(said(cluster.job()), 'Succeeded Validated')
  }))

test('a refused pod ends the job, a quota is waited for', async () => {
  const cluster = new FakeCluster()
  const clock = fakeClock()
  cluster.refuse = new ApiError(403, 'Forbidden', 'pods "a" is forbidden: violates PodSecurity "restricted:latest"')
  cluster.addJob(makeJob())
  const worker = startWorker(cluster, clock)
  await clock.advance(3_000)
  assert.equal(said(cluster.job()), 'Failed PodConfigInvalid')
  cluster.refuse = new ApiError(403, 'Forbidden', 'pods "b" is forbidden: exceeded quota: small')
  cluster.addJob(makeJob({ name: 'b' }))
  await clock.advance(5_000)
  assert.match(cluster.job('b').status?.message ?? '', /exceeded quota/)
  await clock.advance(15_000)
  assert.equal(cluster.admitted.length, 1)
  await worker.stop()
})

test('the next worker takes up what the last one has left, also what has ended meanwhile', async () => {
  const cluster = new FakeCluster()
  const clock = fakeClock()
  cluster.addJob(makeJob())
  cluster.addJob(makeJob({ name: 'b' }))
  const first = startWorker(cluster, clock)
  await clock.advance(1_000)
  const [a, b] = ['a', 'b'].map((name) => podKeyOf(cluster.job(name), 1)) as [string, string]
  for (const key of [a, b]) cluster.setPod(key, { phase: 'Running', clone: cloned, execute: running, report: running })
  await clock.advance(5_000)
  await first.stop()
  assert.equal(said(cluster.job()), 'Running Running', 'a stop leaves jobs as they are')
  finishPod(cluster, a)
  await clock.advance(4_000_000)
  const second = startWorker(cluster, clock)
  await clock.advance(5_000)
  assert.equal(said(cluster.job()), 'Succeeded Validated', 'it had ended in time')
  await clock.advance(60_000)
  assert.equal(said(cluster.job('b')), 'Failed DeadlineExceeded')
  assert.ok(!cluster.pods.objects.has(b))
  assert.equal(cluster.admitted.length, 2)
  await second.stop()
})

function hearNothing(signal: AbortSignal): AsyncQueue<WatchEvent> {
  const queue = new AsyncQueue<WatchEvent>()
  signal.addEventListener('abort', () => queue.close())
  return queue
}

test('a worker that was paused before it made a pod does not run an attempt that is over', async () => {
  const cluster = new FakeCluster()
  const clock = fakeClock()
  cluster.addJob(makeJob())
  let paused: Promise<void> | undefined
  let go = (): void => {}
  const { jobs, pods } = cluster.clients()
  // stands still when it is about to create
  const slow = { ...pods, create: async (...args: Parameters<typeof pods.create>) => (await paused, await pods.create(...args)) }
  paused = new Promise((resolve) => (go = resolve))
  const abort = new AbortController()
  const old = (async () => {
    const executor = await openPodExecutor({ client: slow, settings: { image: 'us:1' }, clock, log: silentLog }, abort.signal)
    await runController({ client: { ...jobs, watch: (_version, signal) => hearNothing(signal) }, executor, concurrency: 2, fenced: true, clock, log: silentLog, signal: abort.signal })
  })()
  await clock.advance(1_000)
  assert.equal(cluster.job().status?.attempts, 1)
  const key = podKeyOf(cluster.job(), 1)
  const worker = startWorker(cluster, clock)
  await clock.advance(1_000)
  assert.deepEqual(cluster.admitted, [{ key, uid: 'pod-1' }])
  cluster.pods.drop(key)
  await clock.advance(5_000)
  assert.equal(said(cluster.job()), 'Pending Retrying')
  go()
  await clock.advance(1_000)
  assert.equal(cluster.pods.objects.size, 0, 'what it has made is taken away')
  assert.equal(cluster.admitted.length, 1)
  abort.abort()
  await old
  await worker.stop()
})

type Fate = 'success' | 'mismatch' | 'evicted' | 'deleted' | 'git' | 'image' | 'memory' | 'silent'

/** Plays a kubelet for each pod that was let in, by the fates in their order. */
function playKubelet(cluster: FakeCluster, fates: readonly Fate[]): () => void {
  let seen = 0
  const steps: (() => void)[] = []
  return () => {
    for (const step of steps.splice(0)) step()
    for (; seen < cluster.admitted.length; seen++) {
      const { key } = cluster.admitted[seen]!
      const fate = fates[seen % fates.length]!
      steps.push(() => {
        cluster.setPod(key, { phase: 'Running', clone: cloned, execute: running, report: running })
        steps.push(() => meet(cluster, key, fate))
      })
    }
  }
}

function meet(cluster: FakeCluster, key: string, fate: Fate): void {
  switch (fate) {
    case 'success':
      return finishPod(cluster, key)
    case 'mismatch':
      return finishPod(cluster, key, whole, 'OutputMismatch')
    case 'evicted':
      return cluster.setPod(key, { phase: 'Failed', reason: 'Evicted', clone: cloned })
    case 'deleted':
      return cluster.pods.drop(key)
    case 'git':
      return cluster.setPod(key, { phase: 'Failed', clone: ended(1, 'Error', JSON.stringify({ failure: { reason: 'RunnerUnavailable', class: 'Infrastructure', message: 'away' } })) })
    case 'image':
      return cluster.setPod(key, { clone: waiting('InvalidImageName') })
    case 'memory':
      return finishPod(cluster, key, { ...whole, execute: ended(0, 'OOMKilled') })
    case 'silent':
      return cluster.setPod(key, whole)
  }
}

test('with two workers that both lead, slow answers and any fate of the pods: a verdict, and never two pods for one attempt', async () => {
  const fate = fc.constantFrom<Fate>('success', 'mismatch', 'evicted', 'deleted', 'git', 'image', 'memory', 'silent')
  await fc.assert(
    fc.asyncProperty(fc.array(fate, { minLength: 1, maxLength: 4 }), fc.array(fc.nat(4_000), { minLength: 1, maxLength: 30 }), fc.nat(20), async (fates, delays, stopAt) => {
      const cluster = new FakeCluster()
      const clock = fakeClock()
      let calls = 0
      const wait = async (): Promise<void> => {
        const delay = delays[calls++ % delays.length]!
        if (delay > 1_000) await clock.sleep(delay)
      }
      cluster.addJob(makeJob())
      const workers = [startWorker(cluster, clock, wait), startWorker(cluster, clock, wait)]
      const kubelet = playKubelet(cluster, fates)
      for (let i = 0; i < 200 && !isFinished(cluster.job()); i++) {
        if (i === stopAt) {
          await workers[0]!.stop()
          workers[0] = startWorker(cluster, clock, wait)
        }
        kubelet()
        await clock.advance(3_000)
      }
      await Promise.all(workers.map((worker) => worker.stop()))
      const { status } = cluster.job()
      assert.ok(isFinished(cluster.job()), `no verdict: ${said(cluster.job())}`)
      const keys = cluster.admitted.map(({ key }) => key)
      assert.equal(new Set(keys).size, keys.length, 'two pods for one attempt')
      assert.ok(keys.length <= 3, 'more attempts than backoffLimit allows')
      if (status?.phase === 'Succeeded') assert.ok(cluster.admitted.some((_, i) => fates[i % fates.length] === 'success'))
    }),
    { numRuns: 60 },
  )
})

test('a pod of the same name that is not the job\'s is left alone', async () => {
  const cluster = new FakeCluster()
  const clock = fakeClock()
  const job = makeJob()
  const key = podKeyOf(job, 1)
  cluster.pods.put(key, makePodState({ jobUid: 'another', name: podNameOf(job, 1) }))
  cluster.addJob(job)
  const worker = startWorker(cluster, clock)
  await clock.advance(3_000)
  assert.equal(said(cluster.job()), 'Failed PodConfigInvalid')
  assert.ok(cluster.pods.objects.has(key))
  await worker.stop()
})
