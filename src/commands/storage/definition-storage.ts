/** Storage administration of a CustomResourceDefinition: what a kube-apiserver lets a client do about it. */
import { createHash } from 'node:crypto'
import { Refused } from '../../../storage/refused.ts'
import type { DryRun } from '../../../storage/migrate-dry-run.ts'
import type { Proof } from '../../../storage/fence-change.ts'
import { isObject, type JsonObject } from '../../api/object.ts'
import { encodeJson } from '../../api/codec.ts'
import { qualifiedName } from '../../api/resource.ts'
import { nextStep } from '../../registry/next-step.ts'
import type { Migration, Observed, StorageAdmin, StorageStatus } from '../../registry/storage-admin.ts'
import type { Verification } from '../../../storage/verify.ts'
import { resources } from '../../resources/index.ts'
import { ApiError } from '../../worker/job-client.ts'
import { openDefinitionApi, type DefinitionApi, type LiveDefinition } from './definition-api.ts'
import { startDefinitionMigration, type RunningMigration } from './definition-migration.ts'
import { PROOF_ANNOTATION, trimVersions, waitUntilStoredAt } from './definition-versions.ts'
import { sweepObjects } from './definition-sweep.ts'
import { UsageError } from './exit-code.ts'
import { patiently, type Waiting } from './patiently.ts'

/** Opens it with a kubeconfig. Throws when that names no cluster. Migrations run in this process. */
export function openDefinitionStorage(kubeconfig: string, around: Waiting): StorageAdmin {
  const api = openDefinitionApi(kubeconfig)
  const running = new Map<string, RunningMigration>()
  const find = async (name: string): Promise<LiveDefinition> => {
    const found = await api.find(name)
    if (!found) throw new Refused('UnknownResource', `the cluster has no CustomResourceDefinition ${name}`)
    return found
  }
  const status = async (name: string): Promise<StorageStatus> => await statusOf(api, await find(name), running.get(name)?.migration(), around)
  return {
    async list() {
      const found = await Promise.all(resources.map(({ definition }) => api.find(qualifiedName(definition))))
      return await Promise.all(found.filter((one) => one !== undefined).map((one) => statusOf(api, one, running.get(one.name)?.migration(), around)))
    },
    status,
    async setVersion(name, { version }) {
      await setStorageVersion(api, await find(name), version, around)
      return await status(name)
    },
    preview: async (name, options) => await preview(api, await find(name), options, around),
    async migrate(name, { rate = 0 } = {}) {
      running.set(name, startDefinitionMigration(api, await find(name), { ...around, rate }))
      return running.get(name)?.migration() as Migration
    },
    migration: async (name) => running.get(name)?.migration(),
    pause: notHere('a migration runs in the process of its command: Ctrl-C ends it, and the same command continues'),
    abort: notHere('a migration runs in the process of its command: Ctrl-C ends it, and objects stay whole'),
    verify: async (name, options) => await verify(api, await find(name), options, around),
    async trim(name) {
      await trimVersions(api, name)
      return await status(name)
    },
    retire: notHere('a version of a CustomResourceDefinition is retired by a manifest without it'),
    listQuarantined: async () => [],
    showQuarantined: notHere('objects of a CustomResourceDefinition are repaired with kubectl'),
    replaceQuarantined: notHere('objects of a CustomResourceDefinition are repaired with kubectl'),
    deleteQuarantined: notHere('objects of a CustomResourceDefinition are deleted with kubectl'),
    backup() {
      throw new UsageError('objects of a CustomResourceDefinition are backed up with etcd, or by kubectl get -o yaml')
    },
    async close() {
      await Promise.all([...running.values()].map((migration) => migration.stop()))
      api.close()
    },
  }
}

function notHere(message: string): () => Promise<never> {
  return async () => {
    throw new UsageError(message)
  }
}

// Nobody can see at which version a single object is stored: all that is known is the list in the definition's status.
function countsOf({ storedVersions }: LiveDefinition, objects: number): Record<string, number> {
  return objects === 0 ? {} : { [storedVersions.join(' or ')]: objects }
}

async function statusOf(api: DefinitionApi, definition: LiveDefinition, migration: Migration | undefined, around: Waiting): Promise<StorageStatus> {
  const { objects, revision } = await patiently(around, () => api.count(definition))
  const proof = proofOf(definition)
  const known: Omit<StorageStatus, 'next' | 'store'> = {
    resource: definition.name,
    versions: definition.versions,
    objects,
    bytes: 0,
    byVersion: countsOf(definition, objects),
    encodingVersion: definition.storageVersion,
    storedVersions: definition.storedVersions.map((version) => ({ version, firstEpoch: 1, firstRevision: 0, reason: 'in the status of the definition' })),
    retiredVersions: [],
    rollbackFloor: definition.versions[0] ?? '',
    epoch: definition.generation,
    mode: 'ReadWrite',
    fenceRevision: Number(definition.resourceVersion),
    replicas: [],
    ...(proof && { proof: { ...proof, current: proof.fenceRevision === definition.generation } }),
    quarantined: 0,
    ...(migration && { migration }),
  }
  return { ...known, next: nextStep(known), store: { engine: `kube-apiserver ${await api.serverVersion()}`, revision, compactedRevision: 0, bytes: 0 } }
}

function proofOf({ object: { metadata } }: LiveDefinition): Proof | undefined {
  const annotations = isObject(metadata) && isObject(metadata.annotations) ? metadata.annotations : {}
  const text = annotations[PROOF_ANNOTATION]
  try {
    const value: unknown = typeof text === 'string' ? JSON.parse(text) : undefined
    return isObject(value) && isObject(value.byVersion) ? (value as unknown as Proof) : undefined
  } catch {
    return undefined
  }
}

async function setStorageVersion(api: DefinitionApi, definition: LiveDefinition, version: string, around: Waiting): Promise<void> {
  if (!definition.versions.includes(version)) throw new Refused('UnknownVersion', `${definition.name} has no version ${version}: it has ${definition.versions.join(', ')}`)
  const spec = definition.object.spec as JsonObject
  const versions = (spec.versions as JsonObject[]).map((one) => ({ ...one, storage: one.name === version }))
  if (definition.storageVersion !== version) {
    await api.write({ ...definition.object, spec: { ...spec, versions } }).catch((error: unknown) => {
      if (error instanceof ApiError && error.code === 409) throw new Refused('Changed', `${definition.name} was changed meanwhile: give the command again`, { cause: error })
      throw error
    })
  }
  await waitUntilStoredAt(api, definition.name, version, around)
}

async function preview(api: DefinitionApi, definition: LiveDefinition, { version, signal, onProgress }: { readonly version?: string } & Observed, around: Waiting): Promise<DryRun> {
  const target = version ?? definition.storageVersion
  if (!definition.served.includes(target)) throw new Refused('UnknownVersion', `${definition.name} does not serve ${target}`)
  const begun = around.clock.monotonic()
  let [bytes, largest] = [0, { key: '', bytes: 0 }]
  await patiently(around, () => {
    ;[bytes, largest] = [0, { key: '', bytes: 0 }]
    return api.list(definition, target, (object) => {
      bytes += object.bytes
      if (object.bytes > largest.bytes) largest = { key: object.key, bytes: object.bytes }
    }, signal)
  })
  const { counters, bad } = await sweepObjects({ api, definition, settle: false, dryRun: true, rate: 0, ...around, ...(signal && { signal }), onProgress: (progress) => onProgress?.(progress) })
  const done = definition.storedVersions.length === 1 && definition.storedVersions[0] === target
  const objects = counters.seen - counters.vanished
  return {
    target, storedVersions: definition.storedVersions, objects, byVersion: countsOf(definition, objects),
    rewritten: done ? 0 : objects - counters.quarantined, current: done ? objects - counters.quarantined : 0, quarantined: counters.quarantined,
    bad: bad.map(({ key, message }) => ({ key, class: 'ConversionError', message, modRevision: 0, sha256: '', bytes: 0, since: new Date(around.clock.now()).toISOString() })),
    bytesIn: bytes, bytesOut: bytes, largest, seconds: (around.clock.monotonic() - begun) / 1000,
  }
}

async function verify(api: DefinitionApi, definition: LiveDefinition, { deep, signal, onProgress }: { readonly deep?: boolean } & Observed, around: Waiting): Promise<Verification> {
  const { clock } = around
  const newest = definition.served.at(-1) ?? definition.storageVersion
  const digest = createHash('sha256')
  let [keys, bytes, largest, startRevision, endRevision] = [0, 0, 0, 0, 0]
  // Whoever can be listed in a version can be read in it: one that cannot fails the list, by its name.
  for (const version of deep ? definition.served : [newest]) {
    endRevision = await api.list(definition, version, ({ key, object, bytes: size }, total) => {
      if (version !== newest) return
      keys++
      bytes += size
      largest = Math.max(largest, size)
      digest.update(`${key}\n${encodeJson(withoutRevision(object))}\n`)
      onProgress?.({ done: keys, total })
    }, signal)
    startRevision ||= endRevision
  }
  const proof = { fenceRevision: definition.generation, startRevision, endRevision, keys, byVersion: countsOf(definition, keys), undecodable: 0, at: new Date(clock.now()).toISOString() }
  return { proof, bad: [], bytes, largest, ...(deep && { digest: digest.digest('hex') }), complete: true }
}

function withoutRevision(object: JsonObject): JsonObject {
  const { resourceVersion: _, ...metadata } = isObject(object.metadata) ? object.metadata : {}
  return { ...object, metadata }
}
