/**
 * What a caller may and who it is: SelfSubjectAccessReview and SelfSubjectReview, for a server that decides by itself. In a cluster both are kube-apiserver's.
 * upstream: pkg/registry/authorization/selfsubjectaccessreview/rest.go, pkg/registry/authentication/selfsubjectreview/rest.go
 */
import type { RequestHandler } from 'express'
import { AUTHENTICATED, type Attributes, type Authorizer, type User } from '../../apiservice/auth.ts'
import { getKey, isObject, type JsonObject } from '../api/object.ts'
import { fieldError, invalid, methodNotSupported } from '../api/status.ts'
import type { Clock } from '../base/clock.ts'
import { negotiate } from './negotiate.ts'
import { respondValue } from './respond.ts'
import { readReview } from './review-body.ts'
import { Warnings } from './warnings.ts'

const REVIEWS = new Map([
  ['authorization.k8s.io/selfsubjectaccessreviews', 'SelfSubjectAccessReview'],
  ['authentication.k8s.io/selfsubjectreviews', 'SelfSubjectReview'],
])

const kindOf = ({ group, version, resource, subresource, namespace }: Pick<Attributes, 'group' | 'version' | 'resource' | 'subresource' | 'namespace'>): string | undefined =>
  version === 'v1' && subresource === '' && namespace === '' ? REVIEWS.get(`${group}/${resource}`) : undefined

/** Lets every authenticated user ask for reviews of itself. upstream: plugin/pkg/auth/authorizer/rbac/bootstrappolicy: system:basic-user */
export function allowSelfReviews(authorize: Authorizer): Authorizer {
  return async (attributes) => (attributes.verb === 'create' && kindOf(attributes) !== undefined && attributes.user.groups.includes(AUTHENTICATED) ? { allowed: true } : await authorize(attributes))
}

/** Answers the creation of both; nothing is stored. Goes on for all else. */
export function serveSelfReviews({ authorize, clock }: { readonly authorize: Authorizer; readonly clock: Clock }): RequestHandler {
  return async (req, res, next) => {
    const { requestInfo: info, user } = req
    const kind = info?.isResourceRequest ? kindOf(info) : undefined
    if (info === undefined || user === undefined || kind === undefined) return next()
    const { group, resource } = info
    if (info.verb !== 'create' || info.namedInPath) throw methodNotSupported({ group, resource }, info.verb)
    const negotiated = negotiate(req.headers.accept, req)
    const body = await readReview(req, kind)
    const review = { kind, apiVersion: `${group}/v1` }
    const answer = kind === 'SelfSubjectReview'
      ? { ...review, metadata: { creationTimestamp: new Date(clock.now()).toISOString().replace(/\.\d+Z$/, 'Z') }, status: { userInfo: userInfo(user) } }
      : { ...review, metadata: {}, spec: body.spec ?? {}, status: await authorize(attributesOf(body, user)) }
    respondValue({ res, warnings: new Warnings() }, negotiated, answer, 201)
  }
}

function userInfo({ name, uid, groups, extra }: User): object {
  return { username: name, ...(uid === undefined ? {} : { uid }), groups, ...(extra === undefined ? {} : { extra }) }
}

const NO_RESOURCE = { group: '', version: '', resource: '', subresource: '', namespace: '', name: '', path: '' }

// upstream: pkg/registry/authorization/util/helpers.go AuthorizationAttributesFrom, pkg/apis/authorization/validation
function attributesOf(body: JsonObject, user: User): Attributes {
  const spec = isObject(body.spec) ? body.spec : {}
  const { resourceAttributes: resource, nonResourceAttributes: path } = { resourceAttributes: getKey(spec, 'resourceAttributes'), nonResourceAttributes: getKey(spec, 'nonResourceAttributes') }
  if (isObject(resource) === isObject(path)) {
    const detail = isObject(path) ? 'cannot be specified in combination with resourceAttributes' : 'exactly one of nonResourceAttributes or resourceAttributes must be specified'
    throw invalid({ group: 'authorization.k8s.io', kind: '' }, '', [fieldError('FieldValueInvalid', isObject(path) ? 'spec.nonResourceAttributes' : 'spec.resourceAttributes', isObject(path) ? path : null, detail)])
  }
  const text = (name: string): string => {
    const value = getKey((isObject(resource) ? resource : path) as JsonObject, name)
    return typeof value === 'string' ? value : ''
  }
  if (isObject(path)) return { ...NO_RESOURCE, user, verb: text('verb'), path: text('path') }
  return { user, verb: text('verb'), group: text('group'), version: text('version'), resource: text('resource'), subresource: text('subresource'), namespace: text('namespace'), name: text('name'), path: '' }
}
