import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { AttemptError } from './attempt-failure.ts'
import { checkRevision, isCommitId, isShortCommitId, parseRepositoryUrl } from './git-source.ts'

const reasonOf = (task: () => unknown): string => {
  try {
    task()
  } catch (error) {
    assert.ok(error instanceof AttemptError, String(error))
    assert.equal(error.failure.class, 'Final')
    return error.failure.reason
  }
  return 'accepted'
}

test('urls of http and https are accepted as they are', () => {
  for (const url of ['https://git.example/ml/nb.git', 'http://127.0.0.1:8080/x', 'https://[::1]:7443/samples.git', 'https://git.example/a%20b.git', 'HTTPS://git.example/x?y=1']) {
    assert.equal(parseRepositoryUrl(url).protocol.startsWith('http'), true, url)
  }
})

test('everything else is refused before a process is started', () => {
  const hostile = [
    'ext::sh -c touch% /tmp/x', 'EXT::sh', 'file:///etc', 'File:///etc', '/etc/passwd', '../x', './x', 'git://host/x', 'ftp://host/x', 'fd::17/foo', 'fd::3', 'rsync://h/x', '-u', '--upload-pack=touch /tmp/x',
    'https://', 'https:///x', 'http:host', 'http:/host/x', 'https://ho st/x', 'https://host/\nx', 'https://host/\0', 'https://host\\@evil/x', '\thttps://host/x', 'https://host/x#y', 'persistent-https://h/x', 'transport::https://h/x',
    'https::https://h/x', 'http+unix://x/', 'javascript:alert(1)', 'data:text/plain,x', '', ' ', 'https://host/\u0085x', 'httpss://host/x', 'https:', '://host', 'hg::https://x', 'https://[::1/x', 'https://host:99999/x',
  ]
  for (const url of hostile) assert.equal(reasonOf(() => parseRepositoryUrl(url)), 'RevisionNotFound', JSON.stringify(url))
  for (const url of ['ssh://git@host/x', 'git@host:ml/nb.git', 'ssh://-oProxyCommand=x/y', 'SSH://host/x', 'git+ssh-user@host:x']) {
    assert.equal(reasonOf(() => parseRepositoryUrl(url)), 'NotSupported', url)
  }
  for (const url of ['https://user:password@host/x', 'https://token@host/x', 'https://@host/x', 'https://:@host/x']) {
    assert.equal(reasonOf(() => parseRepositoryUrl(url)), 'CredentialsInvalid', url)
  }
})

test('a password in a url is not repeated', () => {
  assert.throws(() => parseRepositoryUrl('https://me:hunter2@host/x'), (error: Error) => !error.message.includes('hunter2'))
})

test('revisions follow the rules of git for names of refs', () => {
  for (const revision of ['main', 'feature/a-b', 'v1.2', 'refs/heads/main', 'refs/pull/3/head', 'HEAD', 'a'.repeat(40), 'ünïcode', '1.x', 'a@b']) {
    assert.equal(reasonOf(() => checkRevision(revision)), 'accepted', revision)
  }
  const hostile = ['', '-u', '--upload-pack=x', '+main', '/main', 'main/', 'a..b', 'a b', 'a~1', 'a^', 'a:b', 'a?', 'a*', 'a[b', 'a\\b', '@{u}', 'a@{1}', '@', 'a.lock', 'a.lock/b', '.a', 'a/.b', 'a.', 'a//b', 'a\nb', 'a\0', 'a\x7f', 'x'.repeat(256), '^main']
  for (const revision of hostile) assert.equal(reasonOf(() => checkRevision(revision)), 'RevisionNotFound', JSON.stringify(revision))
})

test('no accepted revision is an option, a refspec or an expression', () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 20 }), (revision) => {
      if (reasonOf(() => checkRevision(revision)) === 'accepted') assert.doesNotMatch(revision, /^-|^\+|[:\s*^~]|\.\./)
    }),
  )
})

test('commit ids', () => {
  assert.deepEqual([isCommitId('a'.repeat(40)), isCommitId('A1'.repeat(32)), isCommitId('a'.repeat(41)), isCommitId('g'.repeat(40))], [true, true, false, false])
  assert.deepEqual([isShortCommitId('abc1'), isShortCommitId('abc'), isShortCommitId('main')], [true, false, false])
})
