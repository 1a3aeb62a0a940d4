/** Taking versions away on the strength of a proof. */
import type { Backend, CommitRequest } from './backend.ts'
import { commitOnce } from './commit-once.ts'
import { trim, type Proof } from './fence-change.ts'
import { fenceKey, parseFence, storedVersionNames } from './fence-record.ts'
import type { LoadedFence } from './fence-record.ts'
import { Refused } from './refused.ts'
import { listReplicas } from './replicas.ts'
import { readProof } from './verify.ts'

export interface TrimOptions {
  readonly backend: Backend
  readonly resource: string
  /** Default: the last proof that was kept. */
  readonly proof?: Proof
  /** The job that trims at its end, with what else its transaction compares and writes. */
  readonly job?: { readonly id: string; readonly also: Pick<CommitRequest, 'compare' | 'put'> }
}

/** Takes away every stored version that the proof found no object at. Returns the fence. Throws Refused: NoProof, Quarantined, MigrationUnfinished. */
export async function trimStoredVersions({ backend, resource, proof, job }: TrimOptions): Promise<LoadedFence> {
  const key = fenceKey(resource)
  const { revision: replicasRevision } = await listReplicas(backend, resource)
  const fence = parseFence(key, await backend.get(key))
  if (storedVersionNames(fence).length === 1 && !job) return fence
  const used = proof ?? (await readProof(backend, resource))
  if (!used) throw new Refused('NoProof', `${resource} was not verified yet: verify first`)
  const request = trim({ resource, fence }, { proof: used, replicasRevision, ...(job && { job: job.id }) })
  const whole = { compare: [...request.compare, ...(job?.also.compare ?? [])], put: [...(request.put ?? []), ...(job?.also.put ?? [])] }
  const result = await commitOnce(backend, whole, key)
  if (!result.succeeded) throw new Refused('Changed', `the fence, the replicas or the quarantine of ${resource} changed at the same moment: verify again`)
  return parseFence(key, await backend.get(key))
}
