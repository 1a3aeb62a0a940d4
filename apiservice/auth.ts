/** Who is calling and may they: the types that every way of proving it shares. */
import type { Socket } from 'node:net'

/** An authenticated user. upstream: apiserver/pkg/authentication/user */
export interface User {
  readonly name: string
  readonly uid?: string
  readonly groups: readonly string[]
  readonly extra?: Readonly<Record<string, readonly string[]>>
}

/** What an authenticator may look at. Header names are lower case. */
export interface AuthenticationRequest {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** Names and values in turn, as they were sent: here several values of one name are not joined. */
  readonly rawHeaders: readonly string[]
  readonly socket: Socket
}

/**
 * The user behind a request, or undefined when this way of proving identity does not apply. Rejects with InvalidCredentials for a proof that is none,
 * with TrustUnavailable when nobody can tell.
 */
export type Authenticator = (request: AuthenticationRequest) => Promise<User | undefined>

/** One requirement of a selector, as a SubjectAccessReview has it. upstream: meta/v1: LabelSelectorRequirement, FieldSelectorRequirement */
export interface SelectorRequirement {
  readonly key: string
  readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist'
  readonly values?: readonly string[]
}

/** What a request wants to do. `resource` is empty for a path that names no resource. */
export interface Attributes {
  readonly user: User
  readonly verb: string
  readonly group: string
  readonly version: string
  readonly resource: string
  readonly subresource: string
  readonly namespace: string
  readonly name: string
  readonly path: string
  /** What a list, watch or deletion of a collection is limited to; absent: to nothing, or to what cannot be told. */
  readonly fieldSelector?: readonly SelectorRequirement[]
  readonly labelSelector?: readonly SelectorRequirement[]
}

export type Decision = { readonly allowed: boolean; readonly reason?: string }

/** May the user do it. Rejects with TrustUnavailable when nobody can tell. */
export type Authorizer = (attributes: Attributes) => Promise<Decision>

/** The group that may do everything. */
export const SYSTEM_MASTERS = 'system:masters'

/** Every authenticated user is in it. upstream: user.AllAuthenticated */
export const AUTHENTICATED = 'system:authenticated'

/** Credentials were shown and do not hold: 401 everywhere. */
export class InvalidCredentials extends Error {
  override readonly name = 'InvalidCredentials'
}

/** Who is calling, or whether they may, cannot be found out now: never a reason to let somebody in. */
export class TrustUnavailable extends Error {
  override readonly name = 'TrustUnavailable'
  readonly question: 'authentication' | 'authorization'
  constructor(question: 'authentication' | 'authorization', message: string, options?: ErrorOptions) {
    super(message, options)
    this.question = question
  }
}

/** The user as one of system:authenticated. upstream: apiserver/pkg/authentication/group/authenticated_group_adder.go */
export function asAuthenticated(user: User): User {
  if (user.name === 'system:anonymous' || user.groups.some((group) => group === AUTHENTICATED || group === 'system:unauthenticated')) return user
  return { ...user, groups: [...user.groups, AUTHENTICATED] }
}
