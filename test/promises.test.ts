/**
 * What is promised of storage under faults, and the test that holds each promise: so that none is lost when tests are moved. Where nothing holds one, it says why.
 */
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

/** A file under the root, and a text in it that names the test. */
type Held = readonly [file: string, name: string]
/** A promise that no test holds: why. */
type Open = { readonly open: string }

const PROMISES: Readonly<Record<string, readonly [promise: string, ...held: readonly (Held | Open)[]]>> = {
  'R-01': ['a migration killed anywhere ends with the same bytes and exact counters', ['test/fault/migrate-crash.test.ts', 'kill -9 during writes and migrations'], ['test/model/migration-model.test.ts', 'the migration again until it succeeds']],
  'R-02': ['server, command and store killed at random', ['test/etcd/crash.test.ts', 'kill -9 of replicas, of the migrating process and of etcd'], ['test/fault/kill-server.test.ts', 'kill -9 of the server']],
  'R-03': ['two migrations at once: one owner', ['storage/migrate.test.ts', 'one process at a time; who was taken over writes nothing more'], ['test/commands/storage-mistakes.test.ts', 'two commands on one store']],
  'R-04': ['an owner that was paused and taken over writes nothing', ['storage/migrate.test.ts', 'who was taken over writes nothing more'], ['test/model/migration-model.test.ts', 'the lock and the checkpoint']],
  'R-05': ['a stale replica cannot write the old encoding', ['test/etcd/stale-replica.test.ts', 'a replica stopped through set-version, migrate and trim']],
  'R-06': ['a replica that joins during a change of the encoding', ['storage/start.test.ts', 'registers only under the fence that it has checked'], ['storage/start.test.ts', 'loses against a replica that comes at the same moment']],
  'R-07': ['rolling up- and downgrade with several replicas', ['test/etcd/storage.test.ts', 'two replicas'], { open: 'there is one release only: mixed versions are those of the model' }],
  'R-08': ['reads and writes are linear under faults', ['test/e2e/versions.test.ts', 'a read sees every write that was acknowledged before it'], ['test/etcd/members.test.ts', 'the leader is killed'], ['test/etcd/crash.test.ts', 'kill -9 of replicas']],
  'R-09': ['watches lose, double and reorder nothing under faults', ['test/etcd/faults.test.ts', 'watches under cuts, silence and delay'], ['test/etcd/faults.test.ts', 'a replay of 6,000 events'], ['test/model/watch-history.test.ts', 'shows every watcher exactly the history']],
  'R-10': ['a migration is one MODIFIED for each object', ['test/etcd/crash.test.ts', 'await watch.check(last, log)'], ['test/commands/storage.test.ts', 'metadata.generation']],
  'R-11': ['what was acknowledged survives the loss of what was not synced; a torn tail is cut', ['test/fault/torn.test.ts', 'a log that ends within a page'], ['test/fault/kill-storage.test.ts', 'kill -9 during load']],
  'R-12': ['a flipped bit is found, never taken for data', ['storage/envelope.test.ts', 'every change of a byte is found'], ['test/commands/storage.test.ts', 'a flipped byte: reads fail and name it'], ['test/etcd/damage.test.ts', 'a flipped byte in an object']],
  'R-13': ['a full disk, or database, refuses writes and nothing else', ['test/fault/disk-full.test.ts', 'a full disk refuses writes'], ['test/etcd/faults.test.ts', 'without space'], ['test/fault/disk-state.test.ts', 'a read-only file system']],
  'R-14': ['slow stores: a migration gives way first', ['storage/migrate-throttle.test.ts', 'slow commits halve it'], ['storage/migrate-throttle.test.ts', 'commits of others make room']],
  'R-15': ['no decision rests on the wall clock', ['test/fault/clock.test.ts', 'a migration and the high-water mark']],
  'R-16': ['partitions fail closed and heal', ['test/etcd/members.test.ts', 'two members are gone'], ['test/etcd/members.test.ts', 'stops answering'], ['test/etcd/faults.test.ts', 'a commit that never leaves is Unavailable']],
  'R-17': ['certificates change', ['apiservice/serving.test.ts', 'new certificates serve new connections'], ['test/etcd/members.test.ts', 'wants a client certificate'], { open: "warnings before a certificate's end belong to the aggregated deployment" }],
  'R-18': ['compaction past watchers; a rewind is refused', ['test/etcd/faults.test.ts', 'compaction while a watch is cut off'], ['storage/start.test.ts', '11: an older copy of the store'], ['test/etcd/move.test.ts', 'from SQLite to etcd and back']],
  'R-19': ['a migration with little room raises no alarm', ['test/etcd/room.test.ts', 'no alarm of its making'], ['test/fault/disk-state.test.ts', 'little room on the disk']],
  'R-20': ['many objects, bounded memory', { open: 'measured by test/bench/migration.ts and test/bench/large.ts, which a person runs' }],
  'R-21': ['conversions lose nothing, on every route', ['test/model/conversion-laws.test.ts', 'test(law, () => {'], ['test/e2e/versions.test.ts', 'loses nothing']],
  'R-22': ['released bytes are read for ever', ['test/stored-bytes.test.ts', 'each value is the object that it was'], ['storage/fence.test.ts', 'released records of every form are read']],
  'R-23': ['answers are those of a kube-apiserver', ['test/parity/live/live.ts', 'known differences, ']],
  'R-24': ['the model holds, and without any one guard it does not', ['test/model/migration-model.test.ts', 'no order of calls and no fault breaks an invariant'], ['test/model/migration-model.test.ts', 'the model sees a condition that is taken away']],
  'R-25': ['the same code on a simulated store, by seeds', ['test/model/migration-model.test.ts', 'All schedules with one departure, then pairs by a seed']],
  'R-26': ['cut-over from and to a CRD', { open: 'not part of this program yet' }],
  'R-27': ['an aborted cut-over', { open: 'not part of this program yet' }],
  'R-28': ['all replicas down: 503 and nothing is collected', { open: "needs a cluster's garbage collector" }],
  'R-29': ['a dry run writes nothing and counts as the run does', ['storage/verify.test.ts', 'a dry run says what the migration does, and writes nothing']],
  'R-30': ['a soak of days', { open: 'takes days; test/bench/large.ts shows memory after a start' }],
  'R-31': ['a cache that is thrown away', ['storage/cached-prefix.test.ts', 'goes on after the watch broke, and reads all again after a compaction'], ['test/model/watch-history.test.ts', 'every list the state']],
  'R-32': ["operators' mistakes", ['test/commands/storage-mistakes.test.ts', 'files, directories and addresses'], ['test/commands/storage.test.ts', 'what makes no sense is exit 2'], ['storage/fence.test.ts', 'a record that is gone or damaged'], ['test/etcd/members.test.ts', 'a wrong password and another prefix are refused']],
}

test('every promise has its tests, and they are there', () => {
  const root = join(import.meta.dirname, '..')
  assert.deepEqual(Object.keys(PROMISES), Array.from({ length: 32 }, (_, i) => `R-${String(i + 1).padStart(2, '0')}`))
  const missing = Object.entries(PROMISES).flatMap(([id, [promise, ...held]]) => [
    ...(held.length === 0 ? [`${id}: ${promise}`] : []),
    ...held.flatMap((one) => (!('open' in one) && !(existsSync(join(root, one[0])) && readFileSync(join(root, one[0]), 'utf8').includes(one[1])) ? [`${id}: ${one.join(': ')}`] : [])),
  ])
  assert.deepEqual(missing, [])
})
