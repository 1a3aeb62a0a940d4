/** The versions of a CustomResourceDefinition: which one the server stores in, and which ones its status still names. */
import { createHash } from 'node:crypto'
import { Refused } from '../../../storage/refused.ts'
import { isObject, type JsonObject } from '../../api/object.ts'
import { ApiError } from '../../worker/job-client.ts'
import type { DefinitionApi, LiveDefinition } from './definition-api.ts'
import type { Waiting } from './patiently.ts'

/** Where the last proof is kept: on the definition. */
export const PROOF_ANNOTATION = 'mlops.dev/storage-proof'

const POLL_MS = 200
/** So often in a row the server must say it: behind one address there may be several. */
const TIMES = 10
const WAIT_MS = 60_000
const ATTEMPTS = 5

/** Waits until the server stores in a version, which it does some moments after the definition says so. Rejects with Refused when it does not. */
export async function waitUntilStoredAt(api: DefinitionApi, name: string, version: string, { clock, signal }: Waiting): Promise<void> {
  const begun = clock.monotonic()
  for (let agreed = 0; agreed < TIMES; ) {
    const definition = await api.find(name)
    if (definition?.storageVersion !== version) throw new Refused('Changed', `${name} is no longer stored at ${version}`)
    agreed = (await api.storageVersionHash(definition)) === hashOf(definition) ? agreed + 1 : 0
    if (agreed === TIMES) return
    if (clock.monotonic() - begun > WAIT_MS) throw new Refused('ReplicaUnable', `the server does not store ${name} at ${version} after ${WAIT_MS / 1000} s: is the version served?`)
    await clock.sleep(POLL_MS, signal)
  }
}

// upstream: apiserver/pkg/endpoints/discovery/storageversionhash.go: StorageVersionHash
function hashOf({ group, storageVersion, kind }: LiveDefinition): string {
  return createHash('sha256').update(`${group}/${storageVersion}/${kind}`).digest().subarray(0, 8).toString('base64')
}

/** Takes all versions but the storage version out of the status, on the strength of the proof that is kept. Rejects with Refused where there is none that still holds. */
export async function trimVersions(api: DefinitionApi, name: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const definition = await api.find(name)
    if (!definition) throw new Refused('UnknownResource', `the cluster has no CustomResourceDefinition ${name}`)
    const { storageVersion, storedVersions, object } = definition
    if (storedVersions.length === 1 && storedVersions[0] === storageVersion) return
    checkProof(definition)
    const status = isObject(object.status) ? object.status : {}
    try {
      return await api.write({ ...object, status: { ...status, storedVersions: [storageVersion] } }, { status: true })
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 409 || attempt === ATTEMPTS) throw error
    }
  }
}

// The generation goes up with every change of the spec: while it is the same, nothing was written at another version since the proof began.
function checkProof({ name, generation, storageVersion, object: { metadata } }: LiveDefinition): void {
  const annotations: JsonObject = isObject(metadata) && isObject(metadata.annotations) ? metadata.annotations : {}
  const proof = parse(annotations[PROOF_ANNOTATION])
  if (proof.fenceRevision === generation && isObject(proof.byVersion) && Object.keys(proof.byVersion).every((version) => version === storageVersion)) return
  throw new Refused('NoProof', `there is no proof that every object of ${name} is stored at ${storageVersion}: storage migrate makes one`)
}

function parse(text: unknown): JsonObject {
  try {
    const value: unknown = typeof text === 'string' ? JSON.parse(text) : undefined
    return isObject(value) ? value : {}
  } catch {
    return {}
  }
}
