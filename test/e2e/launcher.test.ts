/** The launcher on a Node that is too old for the program: it starts it on another one, and neither outlives the other. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'

const LAUNCHER = join(import.meta.dirname, '..', '..', 'src', 'launch.mjs')
const OLD = `data:text/javascript,${encodeURIComponent("Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.20.2' } })")}`

async function until(condition: () => boolean, what: string): Promise<void> {
  for (let i = 0; i < 600; i++) {
    if (condition()) return
    await sleep(50)
  }
  assert.fail(`after 30 s: ${what}`)
}

test('killed without a word, it leaves no server behind: that stops as on a signal', { skip: existsSync(join(LAUNCHER, '..', '..', 'node_modules', `node-${process.platform}-${process.arch}`)) ? false : 'no Node is brought along here' }, async () => {
  const directory = mkdtempSync(join(tmpdir(), 'launcher-'))
  const launcher = spawn(process.execPath, ['--import', OLD, LAUNCHER, 'serve', '--data-dir', directory, '--port', '0'], { stdio: ['ignore', 'pipe', 'pipe'] })
  try {
    let said = ''
    launcher.stdout.on('data', (bytes: Buffer) => (said += bytes.toString()))
    launcher.stderr.on('data', (bytes: Buffer) => (said += bytes.toString()))
    await until(() => said.includes('Serving'), `it serves: ${said}`)
    // The pipes are the server's as well: they end with it.
    const closed = once(launcher, 'close')
    launcher.kill('SIGKILL')
    await closed
    assert.match(said, /\nstopping\n$/)
  } finally {
    launcher.kill('SIGKILL')
    rmSync(directory, { recursive: true, force: true })
  }
})

test('it ends as the program does', async () => {
  for (const [args, code] of [[['--version'], 0], [['storage', 'status', '--data-dir', '/nonexistent'], 2]] as const) {
    const child = spawn(process.execPath, ['--import', OLD, LAUNCHER, ...args], { stdio: 'ignore' })
    assert.deepEqual(await once(child, 'close'), [code, null])
  }
})
