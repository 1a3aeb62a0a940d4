/** Exit codes that CI hooks depend on: those of the README are those of the program, and those that no other story meets. */
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { systemClock } from '../../src/base/clock.ts'
import { silentLog } from '../../src/base/log.ts'
import { lockKey } from '../../storage/migrate-job.ts'
import { EXIT_CODES } from '../../storage/refused.ts'
import { openSqlite } from '../../storage/sqlite.ts'
import { runProduct, startProduct, temporaryDirectory } from '../product.ts'

const RESOURCE = 'notebookvalidationjobs.mlops.dev'

test('the README names every exit code of a refusal, and no other but done and interrupted', () => {
  const readme = readFileSync(join(import.meta.dirname, '..', '..', 'README.md'), 'utf8')
  const [paragraph = ''] = /^Exit codes: [^]*?\n\n/m.exec(readme) ?? []
  const named = [...paragraph.matchAll(/(?:^Exit codes: |[,:] |\n)(\d+) [a-z]/g)].map(([, code]) => Number(code))
  assert.deepEqual(named.toSorted((a, b) => a - b), [...new Set([0, ...Object.values(EXIT_CODES), 130])].sort((a, b) => a - b))
})

test('8: another process has the migrations of a resource', async () => {
  using directory = temporaryDirectory('exit-')
  {
    await using product = await startProduct(directory.path)
    await product.stop('SIGINT')
  }
  const backend = await openSqlite({ directory: join(directory.path, 'store'), clock: systemClock, log: silentLog })
  await backend.commit({ compare: [], put: [{ key: lockKey(RESOURCE), value: Buffer.from(JSON.stringify({ owner: 'server 12-ab' })) }] })
  await backend.close()
  const { code, stdout, stderr } = await runProduct(['storage', 'migrate', '--data-dir', directory.path])
  assert.deepEqual([code, stdout], [8, ''], stderr)
  assert.match(stderr, /^mlops-apiserver: server 12-ab is migrating notebookvalidationjobs\.mlops\.dev already: wait for it, or stop it first\n$/)
})

test('8 and 9: a server that finds the store or the port taken, or a directory that it cannot use', async () => {
  using directory = temporaryDirectory('exit-')
  const at = (name: string): string => join(directory.path, name)
  await using product = await startProduct(at('used'))
  mkdirSync(at('file/store'), { recursive: true })
  writeFileSync(at('file/store/store.db'), 'no database\n')
  const port = new URL(product.url).port
  const cases: readonly (readonly [args: readonly string[], code: number, message: RegExp])[] = [
    [['--data-dir', at('used'), '--port', '0'], 8, new RegExp(`in use by process ${product.pid}`)],
    [['--data-dir', at('other'), '--port', port], 8, /EADDRINUSE|in use/],
    [['--data-dir', at('file'), '--port', '0'], 9, /not a database/],
  ]
  for (const [args, code, message] of cases) {
    const exit = await runProduct(['serve', ...args])
    assert.equal(exit.code, code, exit.stderr)
    assert.match(exit.stderr, message)
    assert.match(exit.stderr, /^mlops-apiserver: [^\n]*\n$/)
  }
})
