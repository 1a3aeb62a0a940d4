/** Queries and headers of requests. */
import type { LiveKind } from './kinds.ts'
import type { Random } from './random.ts'

export type Query = readonly (readonly [string, string])[]

const JSON_ONLY = 'application/json'
const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json'
const ACCEPTS: readonly (readonly [number, string])[] = [
  [30, JSON_ONLY],
  [2, TABLE],
  [1, 'application/json;as=Table;v=v1beta1;g=meta.k8s.io'],
  [2, 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io'],
  [1, 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io'],
  [1, 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json'],
  [1, 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json'],
  [1, 'application/yaml'],
  [0.7, 'application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json'],
  [0.5, '*/*'],
  [0.5, 'application/xml'],
  [0.3, 'application/json;q=0.1,application/yaml;q=0.9'],
  [0.3, 'application/json;as=Bogus;v=v1;g=meta.k8s.io'],
]

/** An Accept header, now and then a client's name. */
export function headers(random: Random, { table = true } = {}): Record<string, string> {
  const accept = table ? random.weighted(ACCEPTS) : JSON_ONLY
  const chosen: Record<string, string> = accept === JSON_ONLY ? {} : { Accept: accept }
  if (random.chance(0.1)) chosen['User-Agent'] = random.pick(['kubectl/v1.36.0 (linux/amd64)', 'a', '', 'x'.repeat(200), 'ä/1'])
  return chosen
}

/** The query of a create, update or patch. */
export function writeQuery(random: Random): Query {
  const query: [string, string][] = []
  if (random.chance(0.3)) query.push(['fieldManager', random.pick(['m1', 'm2', 'm3', 'kubectl-client-side-apply', 'kubectl', '', 'x'.repeat(129), 'a\u0001'])])
  if (random.chance(0.35)) query.push(['fieldValidation', random.weighted([[4, 'Strict'], [3, 'Warn'], [3, 'Ignore'], [1, 'Bogus'], [1, '']])])
  if (random.chance(0.08)) query.push(['dryRun', random.weighted([[5, 'All'], [1, 'Some'], [1, '']])])
  if (random.chance(0.04)) query.push(['pretty', random.pick(['true', '1', 'x'])])
  if (random.chance(0.04)) query.push(['force', random.pick(['true', 'false'])])
  if (random.chance(0.03)) query.push(['unknown', 'x'])
  return query
}

/** The query of an apply: a manager, and force. */
export function applyQuery(random: Random): Query {
  const query: [string, string][] = []
  if (!random.chance(0.03)) query.push(['fieldManager', random.pick(['m1', 'm1', 'm2', 'm2', 'm3', 'kubectl'])])
  if (random.chance(0.4)) query.push(['force', random.weighted([[8, 'true'], [2, 'false'], [1, 'x']])])
  if (random.chance(0.12)) query.push(['fieldValidation', random.pick(['Strict', 'Warn', 'Ignore'])])
  if (random.chance(0.06)) query.push(['dryRun', 'All'])
  return query
}

/** The query of a get. */
export function getQuery(random: Random, letter: string): Query {
  if (random.chance(0.75)) return []
  return [random.weighted<readonly [string, string]>([
    [4, ['resourceVersion', `\${rv_${letter}}`]],
    [2, ['resourceVersion', '0']],
    [1, ['resourceVersion', 'abc']],
    [1, ['resourceVersion', '1']],
    [1, ['pretty', 'true']],
    [1, ['resourceVersionMatch', 'Exact']],
    [1, ['unknown', 'x']],
  ])]
}

/** What chooses the objects of a list: the cluster's are told apart by their label. */
export function selectors(random: Random, kind: LiveKind): [string, string][] {
  const query: [string, string][] = []
  const cluster = kind.definition.scope === 'Cluster'
  const label = random.weighted([[4, 'app=a'], [2, 'app'], [2, '!app'], [2, 'app in (a,b)'], [1, 'app notin (a)'], [1, 'app!=a'], [1, 'app==b,example.com/tier='], [1, 'app>3']])
  if (cluster) query.push(['labelSelector', `scn=\${ID}${random.chance(0.4) ? `,${label}` : ''}`])
  else if (random.chance(0.35)) query.push(['labelSelector', random.chance(0.9) ? label : random.pick(['a b', 'app in', ',', 'app=a=b', '=', 'app in ()', 'A_=x', `${'x'.repeat(64)}=y`])])
  if (random.chance(0.25)) {
    const own = kind.definition.versions.flatMap(({ selectableFields = [] }) => selectableFields.map(({ jsonPath }) => `${jsonPath.slice(1)}${random.pick(['=', '!=', '=='])}${random.pick(['', '1', 'x', 'true'])}`))
    query.push(['fieldSelector', random.pick([
      ...own,
      'metadata.name=${ID}-a', 'metadata.name!=${ID}-a', 'metadata.namespace=${ID}', 'metadata.namespace!=${ID}', 'spec.size=small', 'spec.replicas=1', 'spec.size!=small,metadata.name=${ID}-b', 'spec.nothing=x', 'metadata.name', 'a=b=c', '',
      'metadata.labels=x',
    ])])
  }
  return query
}

/** The query of a list. `paged`: nobody else's objects lie between and behind its own. */
export function listQuery(random: Random, kind: LiveKind): Query {
  const query = selectors(random, kind)
  if (kind.definition.scope !== 'Cluster' && random.chance(0.3)) query.push(['limit', random.weighted([[4, '1'], [2, '2'], [2, '500'], [1, '0'], [1, '-1'], [1, 'x']])])
  if (random.chance(0.3)) query.push(['resourceVersion', random.weighted([[5, '${rv_a}'], [3, '${rv_list}'], [2, '${rv_b}'], [4, '0'], [0.3, '99999999'], [1, ''], [1, '1'], [1, 'abc'], [1, '-1']])])
  if (random.chance(0.2)) query.push(['resourceVersionMatch', random.weighted([[4, 'NotOlderThan'], [4, 'Exact'], [1, 'Bogus'], [1, '']])])
  if (random.chance(0.06)) query.push(random.pick([['pretty', 'true'], ['includeObject', 'Object'], ['includeObject', 'None'], ['includeObject', 'Bogus'], ['timeoutSeconds', 'x'], ['sendInitialEvents', 'true'], ['continue', 'x'], ['allowWatchBookmarks', 'true'], ['watch', 'false'], ['watch', 'x']]))
  return query
}

/** The query of a watch. */
export function watchQuery(random: Random, kind: LiveKind): Query {
  const query: [string, string][] = [['watch', random.pick(['true', '1'])], ...selectors(random, kind)]
  query.push(...random.weighted<() => [string, string][]>([
    [5, () => [['resourceVersion', '${rv_first}']]],
    [3, () => [['resourceVersion', '${rv_a}']]],
    [2, () => [['resourceVersion', '${rv_list}']]],
    [1, () => [['resourceVersion', '0']]],
    [2, () => []],
    [1, () => [['sendInitialEvents', 'true'], ['resourceVersionMatch', 'NotOlderThan'], ['allowWatchBookmarks', 'true']]],
    [0.5, () => [['sendInitialEvents', random.pick(['true', 'false'])], ['resourceVersionMatch', random.pick(['NotOlderThan', 'Exact'])], ['resourceVersion', '${rv_a}']]],
    [0.3, () => [['resourceVersion', '1']]],
    [0.3, () => [['resourceVersion', 'abc']]],
    [0.2, () => [['resourceVersionMatch', 'Exact']]],
    [0.2, () => [['limit', '1'], ['resourceVersion', '${rv_a}']]],
  ])())
  if (random.chance(0.1)) query.push(['allowWatchBookmarks', 'true'])
  return query
}
