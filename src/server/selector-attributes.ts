/**
 * What a list, watch or deletion of a collection is limited to, as an authorizer is told.
 * upstream: apiserver/pkg/endpoints/filters/authorization.go: GetAuthorizerAttributes; apiserver/plugin/pkg/authorizer/webhook/webhook.go: labelSelectorToAuthorizationAPI
 */
import type { Attributes, SelectorRequirement } from '../../apiservice/auth.ts'
import { parseFieldSelector, parseLabelSelector, type LabelRequirement } from '../api/selector.ts'
import type { RequestInfo } from './request-info.ts'

const COLLECTION_VERBS = new Set(['list', 'watch', 'deletecollection'])
const LABEL_OPERATORS: Readonly<Record<LabelRequirement['operator'], SelectorRequirement['operator'] | undefined>> = {
  in: 'In', '=': 'In', '==': 'In', notin: 'NotIn', '!=': 'NotIn', exists: 'Exists', '!': 'DoesNotExist',
  // A review has no words for them; without them it asks for more.
  gt: undefined, lt: undefined,
}

/** The selectors of a request; none for one that cannot be parsed, which is refused later. */
export function selectorAttributes({ verb, query }: Pick<RequestInfo, 'verb' | 'query'>): Pick<Attributes, 'fieldSelector' | 'labelSelector'> {
  if (!COLLECTION_VERBS.has(verb)) return {}
  const fieldSelector = requirements(query.get('fieldSelector'), fieldRequirements)
  const labelSelector = requirements(query.get('labelSelector'), labelRequirements)
  return { ...(fieldSelector ? { fieldSelector } : {}), ...(labelSelector ? { labelSelector } : {}) }
}

function requirements(text: string | null, parse: (text: string) => readonly SelectorRequirement[]): readonly SelectorRequirement[] | undefined {
  if (!text) return undefined
  try {
    return parse(text)
  } catch {
    return undefined
  }
}

function fieldRequirements(text: string): SelectorRequirement[] {
  return parseFieldSelector(text).requirements.map(({ label, operator, value }) => ({ key: label, operator: operator === '=' ? 'In' : 'NotIn', values: [value] }))
}

function labelRequirements(text: string): SelectorRequirement[] {
  return parseLabelSelector(text).requirements.flatMap(({ key, operator, values }) => {
    const known = LABEL_OPERATORS[operator]
    return known === undefined ? [] : [{ key, operator: known, ...(values.length > 0 ? { values } : {}) }]
  })
}
