/** `standalone` as a process: what a user meets at the start, at the end, and when the machine is not as it should be. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { SETTINGS } from '../../src/config.ts'
import type { EventStream, Http2Client } from '../http-client.ts'
import { job, jobsPath } from '../jobs.ts'
import { runProduct, startProduct, temporaryDirectory } from '../product.ts'
import { mountSmallDisk } from '../small-disk.ts'

const QUIET = ['--no-samples', '--no-worker'] as const

test('a busy port is named, and leaves the data directory free', async () => {
  using directory = temporaryDirectory('busy-')
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const { code, stderr } = await runProduct(['standalone', '--data-dir', directory.path, '--port', String(port), ...QUIET])
  server.close()
  assert.equal(code, 8)
  assert.equal(stderr, `mlops-apiserver: port ${port} is in use by another program on 127.0.0.1: stop it or choose another port\n`)
  assert.ok(!existsSync(join(directory.path, 'store', 'store.pid')))
  await using product = await startProduct(directory.path)
  assert.equal((await product.stop('SIGINT')).code, 0)
})

test('a data directory that cannot be made is named, with what to do', async (t) => {
  using directory = temporaryDirectory('unwritable-')
  const file = join(directory.path, 'file')
  writeFileSync(file, '')
  const places = [file, join(file, 'below'), ...(existsSync('/proc/self') ? ['/proc/mlops'] : [])]
  for (const place of places) {
    const { code, stderr } = await runProduct(['standalone', '--data-dir', place, '--port', '0', ...QUIET])
    assert.equal(code, 1)
    assert.ok(stderr.startsWith(`mlops-apiserver: cannot make the data directory ${place}: `), stderr)
    assert.ok(stderr.endsWith('. Name another one with --data-dir\n'), stderr)
    assert.equal(stderr.split('\n').length, 2, stderr)
  }
  const disk = mountSmallDisk('size=1m,ro')
  if (typeof disk === 'string') return t.diagnostic(`no read-only file system was tried: ${disk}`)
  using readOnly = disk
  for (const place of [readOnly.path, join(readOnly.path, 'below')]) {
    const { code, stderr } = await runProduct(['standalone', '--data-dir', place, '--port', '0', ...QUIET])
    assert.equal(code, 9)
    assert.match(stderr, /^mlops-apiserver: .*data directory \S+ .*read-only file system.*\n$/)
  }
})

test('a second process on the same data directory is refused and names the first, which goes on', async () => {
  using directory = temporaryDirectory('second-')
  await using product = await startProduct(directory.path)
  const { code, stderr } = await runProduct(['standalone', '--data-dir', directory.path, '--port', '0', ...QUIET])
  assert.equal(code, 8)
  assert.equal(stderr, `mlops-apiserver: data directory ${join(directory.path, 'store')} is in use by process ${product.pid}: stop it first, or choose another directory\n`)
  using client = product.connect()
  assert.equal((await client.send('POST', jobsPath('v1'), { body: job('goes-on') })).status, 201)
})

async function readAll(watch: EventStream): Promise<void> {
  for await (const { type, object } of watch) assert.fail(`${type} ${JSON.stringify(object)}`)
}

function childrenOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)
}

async function gone(pid: number): Promise<boolean> {
  for (let i = 0; i < 100; i++) {
    if (!existsSync(`/proc/${pid}`)) return true
    await sleep(50)
  }
  return false
}

test('a stop at any moment of the start ends it', async () => {
  using directory = temporaryDirectory('early-')
  for (const afterMs of [300, 450, 600, 750, 900]) {
    const child = spawn(process.execPath, ['src/launch.mjs', 'standalone', '--data-dir', directory.path, '--port', '0', '--python', '/nonexistent/python'], { cwd: join(import.meta.dirname, '..', '..'), stdio: 'ignore' })
    const ended = once(child, 'exit')
    await sleep(afterMs)
    child.kill('SIGTERM')
    const late = setTimeout(() => child.kill('SIGKILL'), 20_000)
    // Killed by the signal where it came before the program knew of it, else a clean end; never killed for taking too long.
    assert.notEqual((await ended)[1], 'SIGKILL', `stopped after ${afterMs} ms`)
    clearTimeout(late)
  }
})

test('Ctrl-C ends it cleanly: watches end, writes are kept, no process and no lock is left', async () => {
  using directory = temporaryDirectory('stop-')
  await using product = await startProduct(directory.path, { worker: true, args: ['--python', '/nonexistent/python'] })
  const children = process.platform === 'linux' ? childrenOf(product.pid) : []
  assert.ok(process.platform !== 'linux' || children.length > 0, 'the worker is a child')
  using client = product.connect()
  const { body } = await client.send('POST', jobsPath('v1'), { body: job('kept') })
  const watches = ['v1', 'v1alpha1'].map((version) => client.watch(`${jobsPath(version)}?watch=true&resourceVersion=${body.metadata.resourceVersion}`))
  await Promise.all(watches.map((watch) => watch.headers))
  // Throws when a stream is cut instead of ended.
  const ends = watches.map(readAll)
  const begun = performance.now()
  // To the group, as a terminal does: the worker gets it too.
  process.kill(-product.pid, 'SIGINT')
  const { code, signal, stderr } = await product.exited
  assert.deepEqual({ code, signal, stderr }, { code: 0, signal: null, stderr: '' })
  assert.ok(performance.now() - begun < 5000)
  await Promise.all(ends)
  for (const pid of children) assert.ok(await gone(pid), `process ${pid} is left`)
  assert.deepEqual(readdirSync(join(directory.path, 'store')), ['store.db', 'store.reserve'])

  await using again = await startProduct(directory.path)
  using reader = again.connect()
  assert.equal((await reader.send('GET', `${jobsPath('v1')}/kept`)).body.metadata.uid, body.metadata.uid)
})

test('SIGKILL takes the worker with it, and the next start needs no help', async () => {
  using directory = temporaryDirectory('kill-')
  const killed = await startProduct(directory.path, { worker: true, args: ['--python', '/nonexistent/python'] })
  const children = process.platform === 'linux' ? childrenOf(killed.pid) : []
  using client = killed.connect()
  assert.equal((await client.send('POST', jobsPath('v1'), { body: job('kept') })).status, 201)
  assert.equal((await killed.stop('SIGKILL')).signal, 'SIGKILL')
  for (const pid of children) assert.ok(await gone(pid), `process ${pid} is left`)
  assert.ok(existsSync(join(directory.path, 'store', 'store.pid')))
  await using product = await startProduct(directory.path)
  using reader = product.connect()
  assert.equal((await reader.send('GET', `${jobsPath('v1')}/kept`)).status, 200)
  assert.equal((await product.stop('SIGTERM')).code, 0)
})

test('a second start has the same certificates, and files that only their owner reads', async (t) => {
  using directory = temporaryDirectory('start-')
  const times: number[] = []
  const authorities = new Set<string>()
  for (let i = 0; i < 4; i++) {
    await using product = await startProduct(directory.path)
    if (i > 0) times.push(product.readyMs)
    authorities.add(product.identity.ca)
    await product.stop('SIGINT')
  }
  // How fast a start is stands in test/bench: here other tests run at the same time.
  t.diagnostic(`ready after ${times.map(Math.round).join(', ')} ms`)
  assert.equal(authorities.size, 1)
  for (const file of ['kubeconfig', 'store/store.db', 'pki/ca.key']) {
    if (existsSync(join(directory.path, file))) assert.equal(statSync(join(directory.path, file)).mode & 0o777, 0o600, file)
  }
})

test('--help says what each command and flag is for', async () => {
  const main = await runProduct(['--help'])
  assert.equal(main.code, 0)
  const commands = [...main.stdout.matchAll(/^ {2}([a-z]+) /gm)].map(([, command = '']) => command).filter((command) => command !== 'help')
  assert.ok(['standalone', 'worker'].every((command) => commands.includes(command)))
  for (const command of commands) {
    const { code, stdout, stderr } = await runProduct([command, '--help'])
    assert.deepEqual({ code, stderr }, { code: 0, stderr: '' })
    const flags = [...stdout.matchAll(/^ {2}(--[a-z-]+)/gm)].map(([, flag]) => flag)
    const words = stdout.replaceAll(/\s+/g, ' ')
    for (const { flag, help, env } of Object.values(SETTINGS).filter((setting) => flags.includes(setting.flag))) {
      assert.ok(words.includes(help) && words.includes(env), `${command} ${flag}`)
    }
  }
})

test('bad flags: all problems at once, each with what is allowed', async () => {
  const bad = await runProduct(['standalone', '--port', 'x', '--concurrency', '0'], { MLOPS_LOG_LEVEL: 'loud' })
  assert.equal(bad.code, 2)
  assert.deepEqual(bad.stderr.split('\n'), [
    'mlops-apiserver: --port: port must be a whole number from 0 to 65535, got "x"',
    'mlops-apiserver: --concurrency: concurrency must be a whole number from 1 to 64, got "0"',
    'mlops-apiserver: MLOPS_LOG_LEVEL: log level must be one of debug, info, warn, error, silent, got "loud"',
    '',
  ])
  for (const [args, message] of [
    [['standalone', '--prot', '1'], /unknown option '--prot'[\s\S]*Did you mean --port/],
    [['standalon'], /unknown command 'standalon'[\s\S]*Did you mean standalone/],
    [['standalone', '--port'], /option '--port <PORT>' argument missing/],
    [['standalone', 'extra'], /too many arguments/],
  ] as const) {
    const { code, stdout, stderr } = await runProduct(args)
    assert.equal(code, 1)
    assert.equal(stdout, '')
    assert.match(stderr, message)
    assert.match(stderr, /add --help/)
  }
})

async function fill(client: Http2Client): Promise<{ readonly written: string[]; readonly refused: { status: number; body: { reason: string; message: string } } }> {
  const written: string[] = []
  for (let i = 0; i < 100; i++) {
    const name = `large-${i}`
    const answer = await client.send('POST', jobsPath('v1'), { body: job(name, { metadata: { annotations: { note: 'x'.repeat(200_000) } } }) })
    if (answer.status !== 201) return { written, refused: answer }
    written.push(name)
  }
  throw new Error('the disk is not full after 20 MB')
}

test('a full disk: writes get 507 with a clear text, reads go on, and it recovers when there is room', async (t) => {
  const disk = mountSmallDisk('size=8m')
  if (typeof disk === 'string') return t.skip(disk)
  using full = disk
  const directory = join(full.path, 'data')
  const ballast = join(full.path, 'ballast')
  const small = job('small')
  {
    await using product = await startProduct(directory)
    writeFileSync(ballast, new Uint8Array(3_000_000))
    using client = product.connect()
    const { written, refused } = await fill(client)
    assert.ok(written.length > 0)
    assert.equal(refused.status, 507)
    assert.equal(refused.body.reason, 'InsufficientStorage')
    assert.match(refused.body.message, /^the store has no space left, nothing was written: free some space and try again/)
    assert.equal((await client.send('GET', jobsPath('v1'))).body.items.length, written.length)
    assert.equal((await client.send('GET', '/readyz')).status, 200)

    rmSync(ballast)
    assert.equal((await client.send('POST', jobsPath('v1'), { body: small })).status, 201)
    for (const name of written) assert.equal((await client.send('DELETE', `${jobsPath('v1')}/${name}`)).status, 200)
    const { code, stderr } = await product.stop('SIGINT')
    assert.deepEqual({ code, stderr }, { code: 0, stderr: '' })
  }
  await using product = await startProduct(directory)
  using client = product.connect()
  assert.deepEqual((await client.send('GET', jobsPath('v1'))).body.items.map((item: typeof small) => item.metadata.name), ['small'])
})

test('a disk that is full at the first start is a clear message', async (t) => {
  const disk = mountSmallDisk('size=1m')
  if (typeof disk === 'string') return t.skip(disk)
  using full = disk
  assert.throws(() => writeFileSync(join(full.path, 'ballast'), new Uint8Array(2_000_000)), { code: 'ENOSPC' })
  const { code, stderr } = await runProduct(['standalone', '--data-dir', join(full.path, 'data'), '--port', '0', ...QUIET])
  assert.equal(code, 9)
  assert.match(stderr, /^mlops-apiserver: .*(full|no space).*\n$/i)
})
