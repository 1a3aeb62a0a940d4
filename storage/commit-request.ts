/** The checks of a commit that need no store; shared by the implementations. */
import { MAX_VALUE_BYTES, TooLarge } from './backend.ts'
import type { CommitRequest } from './backend.ts'

/**
 * Throws TooLarge for a value over MAX_VALUE_BYTES and TypeError for a request that makes no sense: a key that is empty, is not well-formed
 * Unicode (two such keys could share their bytes) or is written twice.
 */
export function checkCommitRequest(request: CommitRequest): void {
  const seen = new Set<string>()
  for (const { key, value } of request.put ?? []) {
    checkKey(key, seen)
    if (value.byteLength > MAX_VALUE_BYTES) {
      throw new TooLarge(`value of ${key} has ${value.byteLength} bytes, the limit is ${MAX_VALUE_BYTES}`)
    }
  }
  for (const key of request.delete ?? []) checkKey(key, seen)
}

function checkKey(key: string, seen: Set<string>): void {
  if (key === '' || !key.isWellFormed()) throw new TypeError(`invalid key ${JSON.stringify(key)}`)
  if (seen.has(key)) throw new TypeError(`key ${JSON.stringify(key)} is written twice in one commit`)
  seen.add(key)
}
