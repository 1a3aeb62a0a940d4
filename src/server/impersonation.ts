/**
 * Acting as somebody else, as the Impersonate headers ask for (kubectl --as): whoever may `impersonate` a user, and each group, uid and extra value that
 * is named, has that user's rights and no others. The narrower verbs of a kube-apiserver's constrained impersonation are not asked for.
 * upstream: apiserver/pkg/endpoints/filters/impersonation/{constrained_impersonation,mode}.go: processImpersonationHeaders, legacyImpersonationMode
 */
import type { Attributes, User } from '../../apiservice/auth.ts'
import { badRequest, goQuote } from '../api/status.ts'

/** What is asked to act as: groups and extra values in their order. */
interface Wanted {
  name: string
  uid: string
  readonly groups: string[]
  readonly extra: Map<string, string[]>
}

const EXTRA = 'impersonate-extra-'
const SERVICE_ACCOUNT = /^system:serviceaccount:([a-z0-9](?:[-a-z0-9]*[a-z0-9])?):([a-z0-9](?:[-.a-z0-9]*[a-z0-9])?)$/
const ANONYMOUS_NAME = 'system:anonymous'
const AUTHENTICATED = 'system:authenticated'
const UNAUTHENTICATED = 'system:unauthenticated'

/** What the requestor must be allowed to do, and whom it then acts as. */
export interface Impersonation {
  readonly user: User
  readonly permissions: readonly Attributes[]
}

/**
 * What a request asks for, if it does; `rawHeaders` are names and values in turn, since values of one name are not to be joined. Throws 400 for groups, a uid
 * or extra values without a user.
 */
export function readImpersonation(rawHeaders: readonly string[], requestor: User): Impersonation | undefined {
  const wanted = readHeaders(rawHeaders)
  if (wanted.name !== '') return { user: actualUser(wanted), permissions: permissions(wanted, requestor) }
  if (wanted.uid !== '' || wanted.groups.length > 0 || wanted.extra.size > 0) throw badRequest(`requested ${goValue(wanted)} without impersonating a user name`)
  return undefined
}

function readHeaders(rawHeaders: readonly string[]): Wanted {
  const wanted: Wanted = { name: '', uid: '', groups: [], extra: new Map() }
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const [name = '', value = ''] = [rawHeaders[i]?.toLowerCase(), rawHeaders[i + 1]]
    if (name === 'impersonate-user') wanted.name ||= value
    else if (name === 'impersonate-uid') wanted.uid ||= value
    else if (name === 'impersonate-group') wanted.groups.push(value)
    else if (name.startsWith(EXTRA)) {
      const key = unescapeKey(name.slice(EXTRA.length))
      wanted.extra.set(key, [...(wanted.extra.get(key) ?? []), value])
    }
  }
  return wanted
}

// What is badly escaped counts as it is.
function unescapeKey(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

function actualUser({ name, uid, groups, extra }: Wanted): User {
  const namespace = SERVICE_ACCOUNT.exec(name)?.[1]
  const own = groups.length === 0 && namespace !== undefined ? ['system:serviceaccounts', `system:serviceaccounts:${namespace}`] : groups
  const added = name === ANONYMOUS_NAME ? UNAUTHENTICATED : own.includes(UNAUTHENTICATED) ? undefined : AUTHENTICATED
  return {
    name,
    groups: added === undefined || own.includes(added) ? own : [...own, added],
    ...(uid === '' ? {} : { uid }),
    ...(extra.size === 0 ? {} : { extra: Object.fromEntries(extra) }),
  }
}

function permissions({ name, uid, groups, extra }: Wanted, requestor: User): Attributes[] {
  const common = { user: requestor, verb: 'impersonate', version: 'v1', path: '' }
  const core = { ...common, group: '', namespace: '', subresource: '' }
  const authentication = { ...core, group: 'authentication.k8s.io' }
  const [, namespace, account] = SERVICE_ACCOUNT.exec(name) ?? []
  return [
    namespace !== undefined && account !== undefined ? { ...core, resource: 'serviceaccounts', namespace, name: account } : { ...core, resource: 'users', name },
    ...(uid === '' ? [] : [{ ...authentication, resource: 'uids', name: uid }]),
    ...groups.map((group) => ({ ...core, resource: 'groups', name: group })),
    ...[...extra].flatMap(([key, values]) => values.map((value) => ({ ...authentication, resource: 'userextras', subresource: key, name: value }))),
  ]
}

// As %#v shows a *user.DefaultInfo.
function goValue({ name, uid, groups, extra }: Wanted): string {
  const strings = (values: readonly string[]): string => `[]string{${values.map(goQuote).join(', ')}}`
  const members = [...extra].sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, values]) => `${goQuote(key)}:${strings(values)}`)
  return `&user.DefaultInfo{Name:${goQuote(name)}, UID:${goQuote(uid)}, Groups:${groups.length > 0 ? strings(groups) : '[]string(nil)'}, `
    + `Extra:map[string][]string${members.length > 0 ? `{${members.join(', ')}}` : '(nil)'}}`
}
