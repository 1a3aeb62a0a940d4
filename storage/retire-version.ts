/** The end of a retirement: recording that no stored object has a version or names it, nor may again, so that a later release may drop its decoder. */
import type { Backend, CommitRequest } from './backend.ts'
import { commitOnce } from './commit-once.ts'
import { endRetirement, type Proof } from './fence-change.ts'
import { fenceKey, parseFence } from './fence-record.ts'
import { Refused } from './refused.ts'

/** Records it, with what else the transaction of its job compares and writes. Throws Refused: NoProof, Quarantined, or Changed. */
export async function recordRetirement(options: {
  readonly backend: Backend
  readonly resource: string
  readonly proof: Proof
  readonly job: { readonly id: string; readonly also: Pick<CommitRequest, 'compare' | 'put'> }
  /** Milliseconds since the epoch. */
  readonly now: number
}): Promise<void> {
  const { backend, resource, proof, job, now } = options
  const key = fenceKey(resource)
  const fence = parseFence(key, await backend.get(key))
  const request = endRetirement({ resource, fence }, { proof, job: job.id, now })
  const whole = { compare: [...request.compare, ...job.also.compare], put: [...(request.put ?? []), ...(job.also.put ?? [])] }
  const result = await commitOnce(backend, whole, key)
  if (!result.succeeded) throw new Refused('Changed', `the fence or the quarantine of ${resource} changed at the same moment: verify again`)
}
