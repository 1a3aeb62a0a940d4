import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { silentLog } from '../src/base/log.ts'
import { openManualClock } from '../test/model/manual-clock.ts'
import { describeBackend } from './backend.suite.ts'
import { openSqlite } from './sqlite.ts'

describeBackend(
  'sqlite',
  async () => {
    const directory = await mkdtemp(join(tmpdir(), 'store-'))
    const clock = openManualClock()
    const backend = await openSqlite({ directory, clock, log: silentLog })
    return {
      backend,
      advance: clock.advance,
      async reopen() {
        await backend.close()
        return openSqlite({ directory, clock, log: silentLog })
      },
      dispose: () => rm(directory, { recursive: true }),
    }
  },
  { durable: true },
)
