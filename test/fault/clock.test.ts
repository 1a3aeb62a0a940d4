/** A wall clock that jumps by years: nothing that is decided rests on it, and nothing shows a negative time. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Clock } from '../../src/base/clock.ts'
import { systemClock } from '../../src/base/clock.ts'
import { silentLog } from '../../src/base/log.ts'
import { contents, fill, run, setEncoding, stores } from '../../storage/migrate.fixture.ts'
import { markFile } from '../../storage/high-water-mark.ts'
import { startStore } from '../../storage/start.ts'
import { join } from 'node:path'
import { temporaryDirectory } from '../product.ts'

const JUMPS = [0, 365, -365, 1 / 24, -1 / 24, 3650]

/** Another wall clock at each look at it; monotonic time is what it is. */
function jumpingClock(): Clock {
  let looks = 0
  return { ...systemClock, now: () => systemClock.now() + JUMPS[looks++ % JUMPS.length]! * 86_400_000 }
}

for (const [engine, open] of stores) {
  test(`a migration and the high-water mark on ${engine}`, async () => {
    await using store = await open()
    using directory = temporaryDirectory('clock-')
    const { backend } = store
    const clock = jumpingClock()
    const place = markFile(join(directory.path, 'mark'))
    const program = { name: 'test', replica: 'r', clock, log: silentLog }
    {
      await using _started = await startStore(backend, program, place)
      await fill(backend, 200)
      await setEncoding(backend, 'v1')
      const shown: number[] = []
      const job = await run(backend, { clock, rateLimit: 400, onProgress: ({ rate, etaSeconds = 0, waitedMs }) => shown.push(rate, etaSeconds, ...Object.values(waitedMs)) })
      assert.deepEqual([job.phase, job.result?.rewritten], ['Succeeded', 200])
      assert.ok(shown.every((value) => value >= 0), shown.join())
      for (const time of [job.startedAt, job.updatedAt]) assert.ok(Number.isFinite(Date.parse(time)))
    }
    await using _again = await startStore(backend, program, place)
    assert.ok((await contents(backend)).every(({ version }) => version === 'v1'))
    // The next migration is the one that is found, though its name may be of an earlier year.
    await setEncoding(backend, 'v1beta1')
    assert.deepEqual([(await run(backend, { clock })).phase, (await run(backend, { clock })).phase], ['Succeeded', 'Succeeded'])
  })
}
