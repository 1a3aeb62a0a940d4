/** What tests of migrations share: stores with objects at an older version. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Clock } from '../src/base/clock.ts'
import { systemClock } from '../src/base/clock.ts'
import { silentLog } from '../src/base/log.ts'
import { openMemoryBackend } from '../test/model/memory-backend.ts'
import { openTwin, sealTwin, twinCodec } from '../test/model/twin-codec.ts'
import { prefixEnd } from './backend.ts'
import type { Backend } from './backend.ts'
import { openFence } from './fence.ts'
import type { Job } from './migrate-job.ts'
import { migrate } from './migrate.ts'
import type { MigrateOptions } from './migrate.ts'
import { changeEncoding } from './set-version.ts'
import { openSqlite } from './sqlite.ts'

export const RESOURCE = 'twins.example'
export const PREFIX = `data/${RESOURCE}/`
export const ORDER = ['v1alpha1', 'v1beta1', 'v1']
export const codec = twinCodec()

/** A store under test. */
export interface TestStore extends AsyncDisposable {
  readonly backend: Backend
  readonly clock: Clock
}

/** Each kind of store that the tests of migrations run on. */
export const stores: readonly (readonly [string, () => Promise<TestStore>])[] = [
  [
    'memory',
    async () => {
      const backend = openMemoryBackend()
      return { backend, clock: systemClock, [Symbol.asyncDispose]: () => backend.close() }
    },
  ],
  [
    'sqlite',
    async () => {
      const directory = await mkdtemp(join(tmpdir(), 'migrate-'))
      const backend = await openSqlite({ directory, clock: systemClock, log: silentLog })
      return {
        backend,
        clock: systemClock,
        async [Symbol.asyncDispose]() {
          await backend.close()
          await rm(directory, { recursive: true })
        },
      }
    },
  ],
]

/** Makes the fence at an encoding, and objects with their own names as text; `texts` replaces that of some. */
export async function fill(backend: Backend, count: number, { version = 'v1beta1', texts = {} }: { version?: string; texts?: Readonly<Record<string, string>> } = {}): Promise<void> {
  await openFence(backend, RESOURCE, { encodingVersion: version, decodable: ORDER })
  await Promise.all(Array.from({ length: count }, (_, i) => putTwin(backend, name(i), texts[name(i)] ?? `text ${i}`, version)))
}

export const name = (i: number): string => `ns/${String(i).padStart(6, '0')}`

/** Puts an object without conditions; the revision. */
export async function putTwin(backend: Backend, key: string, text: string, version: string): Promise<number> {
  const result = await backend.commit({ compare: [], put: [{ key: PREFIX + key, value: sealTwin({ key, text }, version) }] })
  return result.revision
}

/** Sets the encoding version. */
export const setEncoding = (backend: Backend, version: string): ReturnType<typeof changeEncoding> =>
  changeEncoding({ backend, resource: RESOURCE, version, order: ORDER, clock: systemClock, reason: 'test', acceptRollback: true })

/** Migrates. */
export const run = (backend: Backend, options: Partial<MigrateOptions> = {}): Promise<Job> =>
  migrate({ backend, resource: RESOURCE, codec, clock: systemClock, log: silentLog, owner: 'test', ...options })

/** Key, text and version of all objects. */
export async function contents(backend: Backend): Promise<{ key: string; text: string; version: string; modRevision: number }[]> {
  const { kvs } = await backend.range({ start: PREFIX, end: prefixEnd(PREFIX) })
  return kvs.map((kv) => ({ ...openTwin(kv.value), modRevision: kv.modRevision }))
}
