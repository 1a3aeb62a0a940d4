import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { systemClock } from '../base/clock.ts'
import { ensurePki } from '../commands/pki.ts'
import type { AttemptFailure } from './attempt-failure.ts'
import { failureOf } from './attempt-failure.ts'
import { type Checkout, clone, CLONE_LIMITS, type CloneOptions } from './clone.ts'
import { resolveNotebook } from './contained-file.ts'
import { NO_CREDENTIALS, readCredentials } from './credentials.ts'
import { makeRepository, type Repository, serveRepository } from './git-server.fixture.ts'

const work = mkdtempSync(join(tmpdir(), 'nvj-clone-'))
let repository: Repository
let server: Awaited<ReturnType<typeof serveRepository>>
let first = ''
let second = ''
let count = 0

before(async () => {
  repository = makeRepository()
  first = repository.commit({ 'a.ipynb': 'one', 'sub/b.ipynb': 'b' })
  repository.git('tag', '-a', '-m', 'annotated', 'v1')
  repository.git('branch', 'same')
  second = repository.commit({ 'a.ipynb': 'two' })
  repository.git('tag', 'same')
  repository.git('branch', 'feature/x')
  repository.commit({ 'a.ipynb': 'three' })
  server = await serveRepository(repository)
})

after(async () => {
  await server.close()
  repository.remove()
  rmSync(work, { recursive: true, force: true })
})

function options(more: Partial<CloneOptions>): CloneOptions {
  return {
    directory: join(work, String(count++)),
    source: { url: server.url },
    credentials: NO_CREDENTIALS,
    limits: CLONE_LIMITS,
    environment: { PATH: '/usr/local/bin:/usr/bin:/bin' },
    mark: 'test',
    clock: systemClock,
    signal: new AbortController().signal,
    ...more,
  }
}

const at = (revision: string, depth = 1): Promise<Checkout> => clone(options({ source: { url: server.url, revision, depth } }))
const text = (checkout: Checkout): string => readFileSync(join(checkout.directory, 'a.ipynb'), 'utf8')

async function failure(promise: Promise<unknown>): Promise<AttemptFailure> {
  try {
    await promise
  } catch (error) {
    return failureOf(error)
  }
  throw new Error('it did not fail')
}

test('branches, tags, full refs and commits, whole and cut short', async () => {
  assert.equal(text(await clone(options({}))), 'three')
  const tag = await at('v1')
  assert.deepEqual([text(tag), tag.commit], ['one', first])
  assert.equal(text(await at('feature/x')), 'two')
  assert.equal(text(await at('refs/heads/same')), 'one')
  assert.equal(text(await at('same')), 'two', 'a tag wins over a branch of its name, as in git rev-parse')
  assert.equal((await at(first)).commit, first)
  assert.equal((await at(second.slice(0, 10))).commit, second)
  assert.equal(text(await at('main', 0)), 'three')
})

test('a commit by its id from a server that hands out only tips', async () => {
  // protocol v0 refuses unadvertised objects by default
  const old = await serveRepository(repository, (request) => (delete request.headers['git-protocol'], undefined))
  try {
    assert.equal((await clone(options({ source: { url: old.url, revision: second } }))).commit, second)
  } finally {
    await old.close()
  }
})

test('the checkout is shallow', async () => {
  const checkout = await at('main')
  assert.equal(readFileSync(join(checkout.directory, '.git/shallow'), 'utf8').trim(), checkout.commit)
})

test('what is not there is RevisionNotFound, in words', async () => {
  const missing = await failure(at('nope'))
  assert.deepEqual([missing.reason, missing.class], ['RevisionNotFound', 'Final'])
  assert.match(missing.message, /has no branch, tag or commit "nope"/)
  assert.equal((await failure(at('0'.repeat(40)))).reason, 'RevisionNotFound')
  const elsewhere = await failure(clone(options({ source: { url: server.url.replace('r.git', 'x.git') } })))
  assert.deepEqual([elsewhere.reason, elsewhere.class], ['RevisionNotFound', 'Final'])
  assert.match(elsewhere.message, /there is no git repository at "http/)
})

test('a server that cannot be reached is trouble of the infrastructure', async () => {
  const refused = await failure(clone(options({ source: { url: 'http://127.0.0.1:1/r.git' } })))
  assert.deepEqual([refused.class, refused.reason], ['Infrastructure', 'RunnerUnavailable'])
  assert.match(refused.message, /cannot be reached: Failed to connect/)
  const busy = await serveRepository(repository, () => ({ status: 503 }))
  assert.equal((await failure(clone(options({ source: { url: busy.url } })))).class, 'Infrastructure')
  await busy.close()
  const unknown = await failure(clone(options({ source: { url: 'http://no-such-host.invalid/r.git' } })))
  assert.deepEqual([unknown.class, /no address is known for/.test(unknown.message)], ['Infrastructure', true])
})

test('git that is not installed is named', async () => {
  assert.match((await failure(clone(options({ environment: { PATH: '/nonexistent' } })))).message, /git was not found: install it/)
})

const encode = (data: Record<string, string>): Record<string, string> => Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString('base64')]))
const credentials = (data: Record<string, string>) => readCredentials('s', encode(data))

test('credentials go into a header, to this server only, and are not asked for', async () => {
  const password = 'p@ss/ w:rd$(x)'
  const wanted = `Basic ${Buffer.from(`me:${password}`).toString('base64')}`
  const guarded = await serveRepository(repository, (request) =>
    request.headers.authorization === wanted || request.headers.authorization === 'Bearer tok' ? undefined : { status: 401, headers: { 'www-authenticate': 'Basic realm="x"' } },
  )
  const source = { url: guarded.url }
  try {
    assert.equal(text(await clone(options({ source, credentials: credentials({ username: 'me', password }) }))), 'three')
    assert.equal(text(await clone(options({ source, credentials: credentials({ bearerToken: 'tok\n' }) }))), 'three')
    const none = await failure(clone(options({ source })))
    assert.deepEqual([none.reason, none.class], ['GitAuthenticationFailed', 'Final'])
    assert.match(none.message, /wants credentials .*credentialsSecretRef/)
    const wrong = await failure(clone(options({ source, credentials: credentials({ token: 'super-secret' }) })))
    assert.equal(wrong.reason, 'GitAuthenticationFailed')
    assert.doesNotMatch(wrong.message, /super-secret/)
    assert.deepEqual(guarded.authorizations.slice(-2), ['Bearer super-secret', `Basic ${Buffer.from('x-access-token:super-secret').toString('base64')}`], 'a token is tried both ways')
  } finally {
    await guarded.close()
  }
})

test("the server's certificate is checked, with the Secret's CA before the machine's", async () => {
  const pki = await ensurePki(join(work, 'pki'), { hosts: ['127.0.0.1'], clock: systemClock })
  const secure = await serveRepository(repository, undefined, pki.server)
  const source = { url: secure.url }
  // whatever the machine is set to
  const environment = { PATH: '/usr/local/bin:/usr/bin:/bin', GIT_SSL_CAINFO: '/etc/ssl/certs/ca-certificates.crt' }
  try {
    assert.equal(text(await clone(options({ source, environment, credentials: credentials({ 'ca.crt': pki.ca }) }))), 'three')
    const untrusted = await failure(clone(options({ source, environment })))
    assert.deepEqual([untrusted.reason, untrusted.class], ['CredentialsInvalid', 'Final'])
    assert.match(untrusted.message, /TLS certificate of the git server .* is not trusted: .*ca\.crt/)
    const elsewhere = await failure(clone(options({ source: { url: secure.url.replace('127.0.0.1', 'localhost') }, environment, credentials: credentials({ 'ca.crt': pki.ca }) })))
    assert.equal(elsewhere.reason, 'CredentialsInvalid', elsewhere.message)
  } finally {
    await secure.close()
  }
})

test('credentials do not follow a redirect', async () => {
  const canary = await serveRepository(repository)
  const moved = await serveRepository(repository, (request) => ({ status: 302, headers: { location: `${canary.url}${request.url?.slice('/r.git'.length)}` } }))
  try {
    const refused = await failure(clone(options({ source: { url: moved.url }, credentials: credentials({ token: 'tok-1234' }) })))
    assert.match(refused.message, /credentials do not follow a redirect/)
    assert.deepEqual(canary.authorizations, [])
    assert.equal(text(await clone(options({ source: { url: moved.url } }))), 'three', 'without credentials it may')
  } finally {
    await moved.close()
    await canary.close()
  }
})

test('a checkout beyond the limits is refused before it is written', async () => {
  const many = await failure(clone(options({ limits: { ...CLONE_LIMITS, files: 1 } })))
  assert.match(many.message, /larger than this worker allows/)
  assert.match((await failure(clone(options({ limits: { ...CLONE_LIMITS, bytes: 3 } })))).message, /larger/)
})

test('a clone that takes too long, and one that is cancelled', async () => {
  const slow = await serveRepository(repository, (request) => (request.pause(), { status: 100 }))
  assert.match((await failure(clone(options({ source: { url: slow.url }, limits: { ...CLONE_LIMITS, timeoutMs: 300 } })))).message, /did not end within/)
  const controller = new AbortController()
  const cancelled = clone(options({ source: { url: slow.url }, signal: controller.signal }))
  setImmediate(() => controller.abort(new Error('cancelled')))
  await assert.rejects(cancelled, /cancelled/)
  await slow.close()
})

test('notebooks stay inside the checkout, whatever links there are', async () => {
  const hostile = makeRepository()
  const lfs = 'version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n'
  hostile.commit({ 'in.ipynb': 'x', 'link.ipynb': { link: 'in.ipynb' }, 'out.ipynb': { link: '/etc/passwd' }, up: { link: '../..' }, 'loop.ipynb': { link: 'loop.ipynb' }, 'git.ipynb': { link: '.git/config' }, 'lfs.ipynb': lfs, 'dir.ipynb/x': '' })
  const served = await serveRepository(hostile)
  try {
    const { directory, commit } = await clone(options({ source: { url: served.url } }))
    const find = (path: string) => resolveNotebook(directory, path, 'NotebookNotFound', commit)
    assert.equal(readFileSync(await find('link.ipynb'), 'utf8'), 'x', 'a link that stays inside is fine')
    for (const path of ['out.ipynb', 'up/x.ipynb', 'up/etc/passwd', 'loop.ipynb', 'git.ipynb', 'none.ipynb', 'dir.ipynb', '../x.ipynb', '/etc/passwd', '-x.ipynb', 'a\0b', '.git/config', 'in.ipynb/x']) {
      assert.equal((await failure(find(path))).reason, 'NotebookNotFound', path)
    }
    assert.equal((await failure(find('lfs.ipynb'))).reason, 'LFSPointer')
    const golden = await failure(resolveNotebook(directory, 'g.ipynb', 'GoldenNotFound', commit))
    assert.deepEqual(golden, { reason: 'GoldenNotFound', class: 'Final', message: `there is no golden notebook "g.ipynb" in commit ${commit.slice(0, 12)}` })
  } finally {
    await served.close()
    hostile.remove()
  }
})

test('hooks, filters and configuration of the repository do nothing', async () => {
  const hostile = makeRepository()
  hostile.commit({ '.gitattributes': '* filter=evil\n', 'a.ipynb': 'x', '.gitmodules': '[submodule "s"]\n path = s\n url = ext::sh -c true\n', 'hooks/post-checkout': '#!/bin/sh\nexit 1\n' })
  const served = await serveRepository(hostile)
  try {
    assert.equal(text(await clone(options({ source: { url: served.url } }))), 'x')
  } finally {
    await served.close()
    hostile.remove()
  }
})
