/** From selectors to what the cache filters by. */
import { exactName, matchesFields, matchesLabels, parseFieldSelector, parseLabelSelector, requiredFields, type FieldRequirement } from '../api/selector.ts'
import { badRequest } from '../api/status.ts'
import type { Filter } from '../../storage/watch-cache.ts'
import { relativeKey, requestVersion, type ResourceStore } from './resource-store.ts'

/** Where and what a list or watch looks for. */
export interface Scope {
  readonly version: string
  /** "" for all namespaces or a cluster-scoped resource. */
  readonly namespace: string
  readonly labelSelector: string
  readonly fieldSelector: string
}

const NAME = 'metadata.name'
const NAMESPACE = 'metadata.namespace'
/** Matches no key: every key is longer than the prefix "" and none has an empty namespace. */
const NOTHING: Filter = { prefix: '\u0000' }

/** Builds the filter. Throws 400 for a selector that does not parse or names an unsupported field. */
export function buildFilter(store: ResourceStore, scope: Scope): Filter {
  const labels = parseLabelSelector(scope.labelSelector)
  const fields = parseFieldSelector(scope.fieldSelector)
  for (const label of requiredFields(fields)) if (!supports(store, scope.version, label)) throw badRequest(`field label not supported: ${label}`)
  const namespaced = store.definition.scope === 'Namespaced'
  const wanted = exactName(fields, NAMESPACE)
  if (namespaced && wanted !== undefined && scope.namespace !== '' && wanted !== scope.namespace) return NOTHING
  const namespace = scope.namespace || (namespaced ? (wanted ?? '') : '')
  const name = exactName(fields, NAME)
  const place: Filter =
    name !== undefined && (namespace !== '' || !namespaced)
      ? { key: relativeKey(store.definition, namespace, name) }
      : namespace !== '' && namespaced ? { prefix: `${namespace}/` } : {}
  // What the key alone decides needs no look at the fields.
  const decided = (r: FieldRequirement) =>
    r.operator === '=' && ((r.label === NAMESPACE && namespaced && r.value === namespace) || (r.label === NAME && place.key !== undefined && r.value === name))
  if (labels.empty && fields.requirements.every(decided)) {
    // Only where nothing was asked for is it known how many are left.
    return fields.requirements.length === 0 || place.key !== undefined ? place : { ...place, matches: () => true }
  }
  return {
    ...place,
    matches: (index) =>
      matchesLabels(labels, index.labels) &&
      matchesFields(fields, (label) => index.fields[scope.version]?.[label] ?? index.fields['']?.[label] ?? ''),
  }
}

function supports(store: ResourceStore, version: string, label: string): boolean {
  if (label === NAME || (label === NAMESPACE && store.definition.scope === 'Namespaced')) return true
  if (store.strategy.selectableFields && Object.hasOwn(store.strategy.selectableFields, label)) return true
  return requestVersion(store, version).selectableFields?.some(({ jsonPath }) => jsonPath.slice(1) === label) ?? false
}
