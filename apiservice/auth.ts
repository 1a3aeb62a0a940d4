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
  readonly socket: Socket
}

/** The user behind a request, or undefined when this way of proving identity does not apply. */
export type Authenticator = (request: AuthenticationRequest) => Promise<User | undefined>

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
}

export type Decision = { readonly allowed: boolean; readonly reason?: string }

/** May the user do it. */
export type Authorizer = (attributes: Attributes) => Promise<Decision>

/** The group that may do everything. */
export const SYSTEM_MASTERS = 'system:masters'

/** Allows system:masters everything and nobody else anything. */
export const authorizeMasters: Authorizer = async ({ user }) => ({ allowed: user.groups.includes(SYSTEM_MASTERS) })
