/** Retiring a version: recording that no stored object may have it again, so that a later release may drop its decoder. */
import type { Backend } from './backend.ts'
import { commitOnce } from './commit-once.ts'
import { retireVersion } from './fence-change.ts'
import { fenceKey, parseFence } from './fence-record.ts'
import type { LoadedFence } from './fence-record.ts'
import { checkEmptyQuarantine } from './quarantine.ts'
import { Refused } from './refused.ts'
import { readPages } from './scan-page.ts'
import { readProof } from './verify.ts'

const DAY_MS = 24 * 60 * 60_000

export interface RetireOptions {
  readonly backend: Backend
  readonly resource: string
  readonly version: string
  /** Milliseconds since the epoch. */
  readonly now: number
  /** Whether an object still names the version, for example in its managedFields. */
  readonly mentions: (value: Uint8Array, version: string) => boolean
}

/** Records it. Throws Refused: StillStored, Quarantined, NoProof (older than a day), RetiredVersion, MigrationUnfinished, or Changed. */
export async function retire(options: RetireOptions): Promise<LoadedFence> {
  const { backend, resource, version, now } = options
  const key = fenceKey(resource)
  const fence = parseFence(key, await backend.get(key))
  await checkEmptyQuarantine(backend, resource)
  const proof = await readProof(backend, resource)
  if (!proof || now - Date.parse(proof.at) > DAY_MS) throw new Refused('NoProof', `the last proof of ${resource} is older than a day: verify first`)
  if ((proof.byVersion[version] ?? 0) > 0) throw new Refused('StillStored', `the last proof of ${resource} found objects at ${version}: migrate first`)
  const { compactedRevision } = await backend.status()
  const request = retireVersion({ resource, fence }, { version, compactedRevision, now })
  const mentioning = await findMention(options)
  if (mentioning !== undefined) {
    throw new Refused('StillStored', `${mentioning} of ${resource} still names ${version} in its managedFields: apply it again through a newer version, or clear that entry`)
  }
  const result = await commitOnce(backend, request, key)
  if (!result.succeeded) throw new Refused('Changed', `the fence or the quarantine of ${resource} changed at the same moment: try again`)
  return parseFence(key, await backend.get(key))
}

async function findMention({ backend, resource, version, mentions }: RetireOptions): Promise<string | undefined> {
  const prefix = `data/${resource}/`
  for await (const page of readPages(backend, prefix)) {
    const found = page.find(({ value }) => mentions(value, version))
    if (found) return found.key.slice(prefix.length)
  }
  return undefined
}
