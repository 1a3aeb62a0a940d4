/**
 * What a URL asks for.
 * upstream: apiserver/pkg/endpoints/request/requestinfo.go: RequestInfoFactory.NewRequestInfo
 */
import { exactName, parseFieldSelector } from '../api/selector.ts'
import { parseQuery } from './query.ts'

export type Verb = 'get' | 'list' | 'watch' | 'create' | 'update' | 'patch' | 'delete' | 'deletecollection' | 'proxy' | ''

export interface RequestInfo {
  /** False for paths that name no resource (discovery, health, …); the fields below are then empty. */
  readonly isResourceRequest: boolean
  readonly path: string
  readonly verb: Verb
  readonly group: string
  readonly version: string
  readonly namespace: string
  readonly resource: string
  readonly subresource: string
  /** From the path, or from `fieldSelector=metadata.name=x` of a list or watch. */
  readonly name: string
  /** The path itself has a name. */
  readonly namedInPath: boolean
  /** One of the deprecated `/watch/` paths. */
  readonly watchPath: boolean
  readonly query: URLSearchParams
}

const NAMESPACE_SUBRESOURCES = new Set(['status', 'finalize'])
const METHOD_VERBS: Readonly<Record<string, Verb>> = { POST: 'create', GET: 'get', HEAD: 'get', PUT: 'update', PATCH: 'patch', DELETE: 'delete' }

/** Parses method and request target (path and query). */
export function parseRequest(method: string, target: string): RequestInfo {
  const mark = target.indexOf('?')
  const path = decodePath(mark < 0 ? target : target.slice(0, mark))
  const query = parseQuery(mark < 0 ? '' : target.slice(mark + 1))
  const base = { path, query, group: '', version: '', namespace: '', resource: '', subresource: '', name: '', namedInPath: false, watchPath: false }
  const parts = path.split('/').filter((part, i, all) => part !== '' || (i > 0 && i < all.length - 1))
  const core = parts[0] === 'api'
  if ((!core && parts[0] !== 'apis') || parts.length < (core ? 3 : 4)) {
    return { ...base, isResourceRequest: false, verb: METHOD_VERBS[method] ?? '' }
  }
  const group = core ? '' : (parts[1] ?? '')
  const version = (core ? parts[1] : parts[2]) ?? ''
  let rest = parts.slice(core ? 2 : 3)
  let verb: Verb = METHOD_VERBS[method] ?? ''
  let watchPath = false
  if (rest[0] === 'watch' || rest[0] === 'proxy') {
    verb = rest[0]
    watchPath = verb === 'watch'
    rest = rest.slice(1)
    if (rest.length === 0) return { ...base, isResourceRequest: false, verb }
  }
  let namespace = ''
  if (rest[0] === 'namespaces' && rest.length > 1) {
    namespace = rest[1] ?? ''
    if (rest.length > 2 && !NAMESPACE_SUBRESOURCES.has(rest[2] ?? '')) rest = rest.slice(2)
  }
  const name = rest[1] ?? ''
  const info: RequestInfo = {
    ...base, isResourceRequest: true, verb, group, version, namespace, watchPath,
    resource: rest[0] ?? '', name, namedInPath: name !== '', subresource: rest[2] ?? '',
  }
  return name === '' ? unnamed(info) : info
}

// A request without a name in its path: get becomes list or watch, delete becomes deletecollection.
function unnamed(info: RequestInfo): RequestInfo {
  let verb = info.verb
  if (verb === 'get') verb = isWatch(info.query) ? 'watch' : 'list'
  else if (verb === 'delete') verb = 'deletecollection'
  if (verb !== 'list' && verb !== 'watch' && verb !== 'deletecollection') return { ...info, verb }
  return { ...info, verb, name: nameOfFieldSelector(info.query.get('fieldSelector')) }
}

function isWatch(query: URLSearchParams): boolean {
  const value = query.get('watch')
  return value !== null && value !== '0' && value.toLowerCase() !== 'false'
}

function nameOfFieldSelector(text: string | null): string {
  if (!text) return ''
  try {
    return exactName(parseFieldSelector(text)) ?? ''
  } catch {
    // A bad selector is refused later, at its place in the order of checks.
    return ''
  }
}

function decodePath(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}
