/**
 * Writes to the store in the directory of the first argument until it is killed. Each commit that was acknowledged is a line:
 * the key, its value and the revision.
 */
import { writeSync } from 'node:fs'
import { systemClock } from '../../src/base/clock.ts'
import { openLog } from '../../src/base/log.ts'
import { openSqlite } from '../../storage/sqlite.ts'

const [, , directory, round] = process.argv
const backend = await openSqlite({ directory: directory!, clock: systemClock, log: openLog('error'), compactAfterMs: 1_000_000 })

// At once, past all buffers of this process. A full pipe takes nothing: the lines are shorter than what it takes whole.
async function say(lines: string): Promise<void> {
  for (;;) {
    try {
      writeSync(1, lines)
      return
    } catch (err) {
      if (!(err instanceof Error && 'code' in err && err.code === 'EAGAIN')) throw err
      await systemClock.sleep(1)
    }
  }
}

async function write(writer: number): Promise<never> {
  for (let i = 0; ; i++) {
    const value = `${round}-${writer}-${i}`
    // Every other write is an update of the same key, with a pair of keys in one commit now and then.
    const key = i % 2 ? `load/${writer}` : `load/${writer}/${round}/${i}`
    const put = [{ key, value: Buffer.from(value.padEnd(2000)) }, ...(i % 10 ? [] : [{ key: `pair/${writer}`, value: Buffer.from(value) }])]
    const { revision } = await backend.commit({ compare: [], put })
    await say(put.map((item) => `${item.key} ${value} ${revision}\n`).join(''))
  }
}

await Promise.all(Array.from({ length: 16 }, (_, writer) => write(writer)))
