/**
 * Bearer tokens, which kube-apiserver knows the users of.
 * upstream: apiserver/pkg/authentication/request/bearertoken, apiserver/plugin/pkg/authenticator/token/webhook/webhook.go, token/cache
 */
import { createHmac } from 'node:crypto'
import type { Clock } from '../src/base/clock.ts'
import { asAuthenticated, InvalidCredentials, TrustUnavailable, type Authenticator, type User } from './auth.ts'
import { openExpiringCache } from './expiring-cache.ts'
import type { KubeClient, KubeJson } from './kube-client.ts'
import { postReview } from './review.ts'

// upstream: DelegatingAuthenticationOptions.CacheTTL
const TTL_MS = 10_000
const MAX_TOKENS = 4096
// No header is longer.
const MAX_TOKEN_LENGTH = 64 * 1024

export interface TokenReviewOptions {
  readonly client: KubeClient
  readonly clock: Clock
  /** For whom a token must have been issued, one of them; none: for kube-apiserver itself. */
  readonly audiences?: readonly string[]
}

/** Authenticates bearer tokens by TokenReview; an answer holds for ten seconds. */
export function tokenReview({ client, clock, audiences = [] }: TokenReviewOptions): Authenticator {
  const cache = openExpiringCache<User | 'invalid'>({ maxEntries: MAX_TOKENS, clock })
  // Tokens themselves are not kept.
  const secret = clock.bytes(32)
  return async ({ headers }) => {
    const token = bearerToken(headers.authorization)
    if (token === undefined) return undefined
    const key = createHmac('sha256', secret).update(token).digest('base64')
    const user = await cache.get(key, async () => ({ value: await review(token), ttlMs: TTL_MS }))
    if (user === 'invalid') throw new InvalidCredentials('invalid bearer token')
    return user
  }
  async function review(token: string): Promise<User | 'invalid'> {
    if (token.length > MAX_TOKEN_LENGTH) return 'invalid'
    const spec = { token, ...(audiences.length > 0 ? { audiences } : {}) }
    try {
      const status = await postReview(client, clock, '/apis/authentication.k8s.io/v1/tokenreviews', { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec })
      return userOfStatus(status, audiences) ?? 'invalid'
    } catch (error) {
      throw new TrustUnavailable('authentication', error instanceof Error ? error.message : String(error), { cause: error })
    }
  }
}

// upstream: bearertoken.AuthenticateRequest
function bearerToken(header: string | string[] | undefined): string | undefined {
  const [scheme = '', token = ''] = (typeof header === 'string' ? header.trim() : '').split(' ')
  return scheme.toLowerCase() === 'bearer' && token !== '' ? token : undefined
}

// A server that knows of no audiences names none in its answer, and has not looked at them.
function userOfStatus(status: KubeJson, audiences: readonly string[]): User | undefined {
  const { user } = status
  if (status.authenticated !== true || typeof user !== 'object' || user === null) return undefined
  if (audiences.length > 0 && !strings(status.audiences).some((audience) => audiences.includes(audience))) return undefined
  const { username, uid, groups, extra } = user as KubeJson
  if (typeof username !== 'string' || username === '') return undefined
  const entries = Object.entries(typeof extra === 'object' && extra !== null ? extra : {}).map(([key, values]) => [key, strings(values)] as const)
  return asAuthenticated({
    name: username,
    groups: strings(groups),
    ...(typeof uid === 'string' && uid !== '' ? { uid } : {}),
    ...(entries.length > 0 ? { extra: Object.fromEntries(entries) } : {}),
  })
}

function strings(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item): item is string => typeof item === 'string') : []
}
