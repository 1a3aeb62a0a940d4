/**
 * Whether a user may: kube-apiserver's authorizer decides, by SubjectAccessReview.
 * upstream: apiserver/plugin/pkg/authorizer/webhook/webhook.go: Authorize, resourceAttributesFrom
 */
import type { Clock } from '../src/base/clock.ts'
import { SYSTEM_MASTERS, TrustUnavailable, type Attributes, type Authorizer, type Decision, type User } from './auth.ts'
import { openExpiringCache } from './expiring-cache.ts'
import type { KubeClient } from './kube-client.ts'
import { postReview } from './review.ts'

// upstream: DelegatingAuthorizationOptions: AllowCacheTTL, DenyCacheTTL
const ALLOWED_MS = 10_000
const REFUSED_MS = 10_000
// upstream: the webhook's cache of 8192 responses, and maxControlledAttrCacheSize
const MAX_DECISIONS = 8192
const MAX_CACHED_LENGTH = 10_000

/** Authorizes by SubjectAccessReview; system:masters may do everything, and is not asked about. A decision holds for ten seconds. */
export function accessReview({ client, clock }: { readonly client: KubeClient; readonly clock: Clock }): Authorizer {
  const cache = openExpiringCache<Decision>({ maxEntries: MAX_DECISIONS, clock })
  return async (attributes) => {
    if (attributes.user.groups.includes(SYSTEM_MASTERS)) return { allowed: true }
    const spec = reviewSpec(attributes)
    return await cache.get(JSON.stringify(spec), async () => {
      const value = await review(spec)
      return { value, ttlMs: isLong(spec) ? 0 : value.allowed ? ALLOWED_MS : REFUSED_MS }
    })
  }
  async function review(spec: ReviewSpec): Promise<Decision> {
    try {
      const { allowed, denied, reason } = await postReview(client, clock, '/apis/authorization.k8s.io/v1/subjectaccessreviews', {
        apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec,
      })
      return { allowed: allowed === true && denied !== true, ...(typeof reason === 'string' && reason !== '' ? { reason } : {}) }
    } catch (error) {
      throw new TrustUnavailable('authorization', error instanceof Error ? error.message : String(error), { cause: error })
    }
  }
}

interface ReviewSpec {
  readonly resourceAttributes?: object
  readonly nonResourceAttributes?: object
  readonly user: string
  readonly groups: readonly string[]
  readonly extra?: User['extra']
  readonly uid?: string
}

/** The `spec` of the review. upstream: authorization/v1: SubjectAccessReviewSpec */
export function reviewSpec(attributes: Attributes): ReviewSpec {
  const { user, verb, group, version, resource, subresource, namespace, name, path, fieldSelector, labelSelector } = attributes
  const what = resource === '' ? { nonResourceAttributes: { path, verb } } : {
    resourceAttributes: {
      ...(namespace === '' ? {} : { namespace }),
      verb,
      ...(group === '' ? {} : { group }),
      version,
      resource,
      ...(subresource === '' ? {} : { subresource }),
      ...(name === '' ? {} : { name }),
      ...(fieldSelector?.length ? { fieldSelector: { requirements: fieldSelector } } : {}),
      ...(labelSelector?.length ? { labelSelector: { requirements: labelSelector } } : {}),
    },
  }
  return {
    ...what,
    user: user.name,
    groups: user.groups,
    ...(user.extra && Object.keys(user.extra).length > 0 ? { extra: user.extra } : {}),
    ...(user.uid ? { uid: user.uid } : {}),
  }
}

// What a requestor chooses freely must not fill the memory. upstream: shouldCache
function isLong({ resourceAttributes, nonResourceAttributes }: ReviewSpec): boolean {
  return JSON.stringify(resourceAttributes ?? nonResourceAttributes).length >= MAX_CACHED_LENGTH
}
