import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../base/clock.ts'
import { ATTEMPT_MARK, findMarked, killMarked, readStartTime, signalGroup, startProcess } from './process-group.ts'

const node = process.execPath
const clock = systemClock

test('a process that ends by itself tells its output and exit code', async () => {
  const lines: string[] = []
  const child = startProcess({ command: node, args: ['-e', 'console.log("a\\nb"); console.error("e"); process.exit(3)'], environment: {}, clock, onLine: (line) => lines.push(line) })
  const exit = await child.exited
  assert.deepEqual({ code: exit.code, stdout: exit.stdout, stderr: exit.stderr, timedOut: exit.timedOut }, { code: 3, stdout: 'a\nb\n', stderr: 'e\n', timedOut: false })
  assert.deepEqual(lines, ['a', 'b'])
})

test('a command that is not there is an error value', async () => {
  const exit = await startProcess({ command: '/nonexistent/command', args: [], environment: {}, clock }).exited
  assert.equal(exit.error?.code, 'ENOENT')
})

test('only the end of a long output is kept', async () => {
  const exit = await startProcess({ command: node, args: ['-e', 'process.stdout.write("x".repeat(1e6) + "end")'], environment: {}, clock, keepBytes: 100 }).exited
  assert.equal(exit.stdout.length, 100)
  assert.ok(exit.stdout.endsWith('xend'))
})

test('the timeout and the signal stop it, a child that ignores SIGTERM too', async () => {
  const deaf = 'process.on("SIGTERM", () => {}); setInterval(() => {}, 1e5); console.log("up")'
  const timed = await startProcess({ command: node, args: ['-e', 'setInterval(() => {}, 1e5)'], environment: {}, clock, timeoutMs: 50 }).exited
  assert.equal(timed.timedOut, true)
  let up = () => {}
  const ready = new Promise<void>((resolve) => (up = resolve))
  const child = startProcess({ command: node, args: ['-e', deaf], environment: {}, clock, onLine: () => up() })
  await ready
  assert.equal((await child.stop(50)).signal, 'SIGKILL')
})

test('marked processes are found and killed also outside the group', { skip: process.platform === 'linux' ? false : 'needs /proc' }, async () => {
  const mark = clock.uuid()
  const script = `
    const child = require('node:child_process').spawn(process.execPath, ['-e', 'setInterval(() => {}, 1e5)'], {detached: true, stdio: 'ignore'})
    console.log(child.pid); child.unref()`
  let escaped = 0
  const exit = await startProcess({ command: node, args: ['-e', script], environment: { [ATTEMPT_MARK]: mark }, clock, onLine: (line) => (escaped = Number(line)) }).exited
  assert.equal(exit.code, 0)
  assert.deepEqual(await findMarked(mark), [escaped])
  assert.ok((await killMarked(mark, clock)) === 1)
  assert.deepEqual(await findMarked(mark), [])
})

test('a start time identifies a process, and none is told of one that is gone', async () => {
  assert.equal(await readStartTime(process.pid), await readStartTime(process.pid))
  const child = startProcess({ command: node, args: ['-e', ''], environment: {}, clock })
  await child.exited
  assert.equal(await readStartTime(child.pid!), undefined)
  assert.equal(signalGroup(child.pid, 'SIGKILL'), false)
  assert.equal(signalGroup(1, 'SIGKILL'), false)
})
