/** Asking kube-apiserver for a review, again when the question was lost on the way. upstream: apiserver/pkg/util/webhook/webhook.go: WithExponentialBackoff, DefaultShouldRetry */
import type { Clock } from '../src/base/clock.ts'
import { KubeStatusError, type KubeClient, type KubeJson } from './kube-client.ts'

// upstream: apiserver/pkg/server/options/authentication.go: DefaultAuthWebhookRetryBackoff, and its call timeout of 10 s
const ATTEMPTS = 5
const FIRST_PAUSE_MS = 500
const FACTOR = 1.5
const TIMEOUT_MS = 10_000

/** Posts a review and returns its status. Rejects as the client does. */
export async function postReview(client: KubeClient, clock: Clock, path: string, review: { readonly apiVersion: string; readonly kind: string; readonly spec: unknown }): Promise<KubeJson> {
  const deadline = clock.monotonic() + TIMEOUT_MS
  for (let attempt = 1, pause = FIRST_PAUSE_MS; ; attempt++, pause *= FACTOR) {
    try {
      const answer = await client.request({ method: 'POST', path, body: review, timeoutMs: Math.max(1, deadline - clock.monotonic()) })
      return typeof answer.status === 'object' && answer.status !== null ? (answer.status as KubeJson) : {}
    } catch (error) {
      const lost = isLostConnection(error)
      if (attempt === ATTEMPTS || !(lost || isTransient(error)) || clock.monotonic() + pause >= deadline) throw error
      // A kept connection that the server had closed: the next one is new.
      if (attempt > 1 || !lost) await clock.sleep(pause)
    }
  }
}

function isLostConnection(error: unknown): boolean {
  const cause = error instanceof Error ? (error.cause as NodeJS.ErrnoException | undefined) : undefined
  return cause?.code === 'ECONNRESET' || cause?.code === 'EPIPE'
}

function isTransient(error: unknown): boolean {
  return error instanceof KubeStatusError && (error.code === 429 || error.code === 500 || error.code === 504)
}
