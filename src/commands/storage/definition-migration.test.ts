/** The migration of a definition against a model of a kube-apiserver that fails, lags and is written to by others. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { isObject, type JsonObject } from '../../api/object.ts'
import type { Clock } from '../../base/clock.ts'
import { systemClock } from '../../base/clock.ts'
import { ApiError } from '../../worker/job-client.ts'
import type { DefinitionApi, ListedObject, LiveDefinition } from './definition-api.ts'
import { startDefinitionMigration } from './definition-migration.ts'
import { PROOF_ANNOTATION, trimVersions } from './definition-versions.ts'

const NAME = 'things.example.com'

interface Stored {
  version: string
  resourceVersion: number
  uid: string
}

/** A kube-apiserver with one definition. `chance` decides what goes wrong; it is asked by name. */
function model(options: { readonly objects: number; readonly chance: (what: string) => boolean; readonly onTouch?: (server: ReturnType<typeof model>, key: string) => void }) {
  let revision = 100
  const objects = new Map<string, Stored>()
  const state = { generation: 2, storageVersion: 'v2', storedVersions: ['v1', 'v2'], annotations: {} as JsonObject, lag: 0, trims: 0 }
  for (let i = 0; i < options.objects; i++) objects.set(`o${i}`, { version: i % 3 === 0 ? 'v2' : 'v1', resourceVersion: ++revision, uid: `u${i}` })
  const live = (): LiveDefinition => ({
    name: NAME, resourceVersion: String(revision), generation: state.generation, group: 'example.com', plural: 'things', kind: 'Thing', versions: ['v1', 'v2'], served: ['v1', 'v2'],
    storageVersion: state.storageVersion, storedVersions: state.storedVersions, object: { metadata: { name: NAME, annotations: state.annotations }, status: { storedVersions: [...state.storedVersions] } },
  })
  const write = (key: string): void => void objects.set(key, { ...(objects.get(key) ?? { uid: `new-${revision}` }), version: state.storageVersion, resourceVersion: ++revision })
  const listed = (key: string, { uid, resourceVersion }: Stored): ListedObject => ({ key, path: key, uid, resourceVersion: String(resourceVersion), bytes: 10, object: {} })
  const api: DefinitionApi = {
    find: async () => live(),
    async write(object, { status } = {}) {
      if (options.chance('conflict of the definition')) throw new ApiError(409, 'Conflict', 'the object has been modified')
      if (status && isObject(object.status)) {
        state.storedVersions = object.status.storedVersions as string[]
        state.trims++
      }
    },
    annotate: async (_, annotations) => void (state.annotations = { ...state.annotations, ...annotations }),
    async list(_, __, each) {
      if (options.chance('list')) throw new ApiError(500, 'InternalError', 'conversion webhook for x failed: Post "https://x": refused')
      for (const [key, stored] of objects) each(listed(key, stored), objects.size)
      return revision
    },
    count: async () => ({ objects: objects.size, revision }),
    async touch({ key, uid }, { dryRun } = {}) {
      options.onTouch?.(server, key)
      if (options.chance('busy')) throw new ApiError(429, 'TooManyRequests', 'wait')
      if (options.chance('conflict')) throw new ApiError(409, 'Conflict', 'the object has been modified')
      const stored = objects.get(key)
      if (!stored) throw new ApiError(404, 'NotFound', 'not found')
      if (stored.uid !== uid) throw new ApiError(409, 'Conflict', 'Precondition failed: UID in precondition')
      if (stored.version !== state.storageVersion && !dryRun) write(key)
      return String(objects.get(key)?.resourceVersion)
    },
    storageVersionHash: async () => (state.lag-- > 0 ? 'another' : createHash('sha256').update(`example.com/${state.storageVersion}/Thing`).digest().subarray(0, 8).toString('base64')),
    serverVersion: async () => 'v1',
    close() {},
  }
  const server = { api, objects, state, live, write }
  return server
}

// Time passes only where it is waited for.
function fastClock(): Clock {
  let now = 0
  return { ...systemClock, now: () => now, monotonic: () => now, sleep: async (ms) => void (now += ms) }
}

async function migrate(server: ReturnType<typeof model>) {
  const running = startDefinitionMigration(server.api, server.live(), { clock: fastClock(), signal: new AbortController().signal, say() {}, rate: 0 })
  while (running.migration().owner !== undefined) await new Promise((resolve) => setImmediate(resolve))
  return running.migration()
}

test('whatever fails and whoever writes: when it has succeeded every object is at the storage version, and only then are versions trimmed', async () => {
  let succeeded = 0
  const chances = fc.infiniteStream(fc.integer({ min: 0, max: 9 }))
  await fc.assert(
    fc.asyncProperty(fc.nat(30), fc.nat(5), chances, async (objects, lag, stream) => {
      const next = (): number => stream.next().value as number
      const server = model({
        objects,
        chance: () => next() === 0,
        onTouch({ objects: there, write }, key) {
          if (next() === 1) write(key)
          if (next() === 2) there.delete(key)
          if (next() === 3) write(`created-${next()}`)
        },
      })
      server.state.lag = lag
      const { phase, failure } = await migrate(server)
      if (phase !== 'Succeeded') {
        assert.deepEqual(server.state.storedVersions, ['v1', 'v2'], JSON.stringify([phase, failure]))
        return
      }
      assert.ok([...server.objects.values()].every(({ version }) => version === 'v2'))
      assert.deepEqual(server.state.storedVersions, ['v2'])
      succeeded++
    }),
    { numRuns: 300, seed: 20261130 },
  )
  assert.ok(succeeded > 100, `${succeeded} of 300 have succeeded`)
})

test('a definition that is changed meanwhile ends it without a trim', async () => {
  let touched = 0
  const server = model({ objects: 5, chance: () => false, onTouch: ({ state }) => void (++touched === 7 && (state.generation++, (state.storageVersion = 'v1'))) })
  const { failure } = await migrate(server)
  assert.match(failure?.message ?? '', /was changed while its objects were migrated/)
  assert.equal(server.state.trims, 0)
})

test('an object that admission refuses blocks it', async () => {
  const server = model({ objects: 5, chance: () => false, onTouch(_, key) {
    if (key === 'o2') throw new ApiError(422, 'Invalid', 'frozen')
  } })
  const { phase, message, counters } = await migrate(server)
  assert.deepEqual([phase, message, counters.quarantined, server.state.trims], ['Blocked', 'o2: frozen', 1, 0])
})

test('versions are trimmed only on a proof of this generation of the definition and of its storage version', async () => {
  const server = model({ objects: 1, chance: () => false })
  const proof = (change: object) => ({ [PROOF_ANNOTATION]: JSON.stringify({ fenceRevision: 2, byVersion: { v2: 1 }, ...change }) })
  for (const annotations of [{}, { [PROOF_ANNOTATION]: '{' }, { [PROOF_ANNOTATION]: 'null' }, proof({ fenceRevision: 1 }), proof({ byVersion: { v1: 1 } }), proof({ byVersion: 7 })]) {
    server.state.annotations = annotations
    await assert.rejects(trimVersions(server.api, NAME), /there is no proof that every object of things\.example\.com is stored at v2/)
  }
  server.state.annotations = proof({})
  await trimVersions(server.api, NAME)
  assert.deepEqual([server.state.storedVersions, server.state.trims], [['v2'], 1])
})
