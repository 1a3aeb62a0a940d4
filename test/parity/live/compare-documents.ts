/** What two servers publish of a definition: discovery in both forms, OpenAPI v2 and v3, in canonical order. */
import type { ResourceDefinition } from '../../../src/api/resource.ts'
import { sendStep, type Target } from '../send.ts'

const AGGREGATED = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'

type Document = Record<string, unknown>

/** The documents of one group by name; texts for what is no JSON. */
export type Documents = Readonly<Record<string, unknown>>

async function get(target: Target, path: string, accept = 'application/json'): Promise<unknown> {
  const { status, text } = await sendStep(target, { m: 'GET', path, h: { Accept: accept } }, {})
  try {
    return status === 200 ? (JSON.parse(text) as unknown) : `${status} ${text}`
  } catch {
    return text
  }
}

/** The documents that are about all groups: fetched once. */
export interface Shared {
  readonly aggregated: Document
  readonly v2: Document
}

/** Fetches what is about all groups. */
export async function sharedDocuments(target: Target): Promise<Shared> {
  const [aggregated, v2] = await Promise.all([get(target, '/apis', AGGREGATED), get(target, '/openapi/v2')])
  return { aggregated: aggregated as Document, v2: v2 as Document }
}

/** What a server publishes of a definition. */
export async function documentsOf(target: Target, { aggregated, v2 }: Shared, { group, versions }: ResourceDefinition): Promise<Documents> {
  const documents: Record<string, unknown> = {
    'aggregated discovery': withoutHashes(((aggregated.items ?? []) as { metadata: { name: string } }[]).find(({ metadata }) => metadata.name === group)),
    [`/apis/${group}`]: await get(target, `/apis/${group}`),
  }
  for (const { name } of versions.filter(({ served }) => served)) {
    documents[`/apis/${group}/${name}`] = withoutHashes(await get(target, `/apis/${group}/${name}`))
    documents[`OpenAPI v3 ${name}`] = canonical(await get(target, `/openapi/v3/apis/${group}/${name}`), {})
  }
  const prefix = `${group.split('.').reverse().join('.')}.`
  const only = (entries: unknown, wanted: (key: string) => boolean) => Object.fromEntries(Object.entries((entries ?? {}) as Document).filter(([key]) => wanted(key)))
  documents['OpenAPI v2 paths'] = canonical(only(v2.paths, (key) => key.startsWith(`/apis/${group}/`) && key.split('/').length > 4), (v2.parameters ?? {}) as Document)
  documents['OpenAPI v2 definitions'] = canonical(only(v2.definitions, (key) => key.startsWith(prefix)), {})
  return documents
}

// Of uids and names that are random.
function withoutHashes(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutHashes)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, key === 'storageVersionHash' ? '<hash>' : withoutHashes(member)]))
}

const PARAMETERS = '#/parameters/'

// Parameters have no order, and an aggregator gives those that many operations have a place of their own. Of the kinds of other groups only it knows.
function canonical(value: unknown, parameters: Document): unknown {
  if (Array.isArray(value)) return value.map((item) => canonical(item, parameters))
  if (typeof value !== 'object' || value === null) return value
  const { $ref } = value as { $ref?: unknown }
  if (typeof $ref === 'string' && $ref.startsWith(PARAMETERS)) return canonical(parameters[$ref.slice(PARAMETERS.length)], parameters)
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, canonicalMember(key, canonical(member, parameters))]))
}

function canonicalMember(key: string, member: unknown): unknown {
  if (key === 'parameters' && Array.isArray(member)) return (member as { name: string; in: string }[]).toSorted((a, b) => `${a.name} ${a.in}`.localeCompare(`${b.name} ${b.in}`))
  if (key === 'io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions') return { ...(member as Document), 'x-kubernetes-group-version-kind': undefined }
  return member
}

/** Where two documents differ, as `path: reference → ours` lines. */
export function differences(expected: unknown, actual: unknown, path = ''): string[] {
  if (Object.is(expected, actual)) return []
  if (typeof expected !== 'object' || typeof actual !== 'object' || expected === null || actual === null || Array.isArray(expected) !== Array.isArray(actual)) {
    return [`${path}: reference ${shown(expected)} ours ${shown(actual)}`]
  }
  const [a, b] = [expected as Document, actual as Document]
  return [...new Set([...Object.keys(a), ...Object.keys(b)])].sort().flatMap((key) => differences(a[key], b[key], `${path}/${key}`))
}

const shown = (value: unknown): string => (JSON.stringify(value) ?? 'nothing').slice(0, 300)
