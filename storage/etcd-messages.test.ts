import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ITxnResponse } from 'etcd3'
import { BackendError } from './backend.ts'
import type { CommitRequest } from './backend.ts'
import { openKeyspace, toRevision } from './etcd-keyspace.ts'
import { toCommitResult, toTxn, toWatchEvent } from './etcd-messages.ts'
import { deleteEvent, header, keyspace, putEvent } from './etcd-watch.fixture.ts'

test('a prefix ends with a slash, callers never see it, and no range of theirs reaches the own keys', () => {
  for (const prefix of ['/a', '/a/']) assert.equal(openKeyspace(prefix).toKey('b').toString(), '/a/b')
  assert.equal(keyspace.fromKey(keyspace.toKey('é\u{1f600}')), 'é\u{1f600}')
  const { key, range_end } = keyspace.toRange({ start: '\u0000', end: '\u{10ffff}' })
  for (const own of [keyspace.progressKey, keyspace.compactionKey]) {
    assert.equal(keyspace.fromKey(own), undefined)
    assert.ok(Buffer.compare(own, key) > 0 && Buffer.compare(own, range_end) > 0)
    assert.ok(Buffer.compare(own, keyspace.all.key) > 0 && Buffer.compare(own, keyspace.all.range_end) < 0)
  }
  for (const prefix of ['', '\ud800']) assert.throws(() => openKeyspace(prefix), TypeError)
})

test('revisions are safe integers or an error', () => {
  assert.equal(toRevision('9007199254740991'), Number.MAX_SAFE_INTEGER)
  assert.throws(() => toRevision('9007199254740993'), BackendError)
})

test('a commit compares, writes, and reads what was compared when it has lost', () => {
  const value = new Uint8Array(new ArrayBuffer(10), 2, 3).fill(7)
  const request: CommitRequest = {
    compare: [{ key: 'a', modRevision: 5 }, { key: 'a', modRevision: 5 }, { start: 'b', end: 'c', modRevisionBelow: 0 }],
    put: [{ key: 'a', value, lease: '7' }],
    delete: ['b'],
  }
  const a = keyspace.toKey('a')
  assert.deepEqual(toTxn(request, keyspace), {
    compare: [
      { key: a, target: 'Mod', result: 'Equal', mod_revision: 5 },
      { key: a, target: 'Mod', result: 'Equal', mod_revision: 5 },
      { key: keyspace.toKey('b'), range_end: keyspace.toKey('c'), target: 'Mod', result: 'Less', mod_revision: 1 },
    ],
    success: [{ request_put: { key: a, value: Buffer.from([7, 7, 7]), lease: '7' } }, { request_delete_range: { key: keyspace.toKey('b') } }],
    failure: [{ request_range: { key: a } }],
  })
  const lost = { header: header(9), succeeded: false, responses: [{ response_range: { header: header(9), kvs: [], more: false, count: '0' } }] } as unknown as ITxnResponse
  assert.deepEqual(toCommitResult(request, lost), { succeeded: false, revision: 9, current: new Map([['a', undefined]]) })
})

test('a commit that writes nothing still reads, so that its revision is the current one', () => {
  const { success, failure } = toTxn({ compare: [] }, keyspace)
  assert.ok(success![0]!.request_range && failure![0]!.request_range)
})

test('events have the value before, copies of the bytes, and the revision that made the key', () => {
  const put = putEvent('a', 12, 11)
  const event = toWatchEvent('a', put)!
  assert.deepEqual(event, {
    type: 'put', key: 'a', value: new Uint8Array(Buffer.from('12')), createRevision: 11, revision: 12,
    previous: { key: 'a', value: new Uint8Array(Buffer.from('11')), modRevision: 11, createRevision: 11 },
  })
  assert.notEqual(event.value!.buffer, put.kv.value.buffer)
  assert.deepEqual(toWatchEvent('a', deleteEvent('a', 12, 11)), { type: 'delete', key: 'a', createRevision: 11, revision: 12, previous: event.previous })
  assert.equal(toWatchEvent('a', deleteEvent('a', 12)), undefined)
})
