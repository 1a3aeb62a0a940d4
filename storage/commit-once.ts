/** Commits whose outcome is always known in the end. */
import { UnknownOutcome } from './backend.ts'
import type { Backend, CommitRequest, CommitResult, KeyValue } from './backend.ts'

const ATTEMPTS = 5

/**
 * Commits a request that compares the revision of `guard` and puts it, so that it can take effect only once. After an unknown outcome the
 * guard is read back: it holds what was put (done), or is as it was (sent again: should the first one arrive late, one of the two is lost),
 * or was changed by somebody else (lost). The value put at the guard must tell its writer from every other. Rejects with UnknownOutcome
 * only when that stays so for several attempts, otherwise as `Backend.commit` does.
 */
export async function commitOnce(backend: Backend, request: CommitRequest, guard: string): Promise<CommitResult> {
  const expected = request.compare.find((compare) => 'key' in compare && compare.key === guard)
  const put = request.put?.find(({ key }) => key === guard)
  if (!expected || !('key' in expected) || !put) throw new TypeError(`the request does not compare and put ${guard}`)
  const isOurs = (found: KeyValue | undefined): found is KeyValue =>
    found !== undefined && found.modRevision !== expected.modRevision && Buffer.compare(found.value, put.value) === 0
  for (let attempt = 1; ; attempt++) {
    try {
      const result = await backend.commit(request)
      const found = !result.succeeded && attempt > 1 ? result.current.get(guard) : undefined
      return isOurs(found) ? { succeeded: true, revision: found.modRevision } : result
    } catch (error) {
      if (!(error instanceof UnknownOutcome) || attempt === ATTEMPTS) throw error
    }
    const found = await backend.get(guard)
    if (isOurs(found)) return { succeeded: true, revision: found.modRevision }
  }
}
