/** Rights as rules, where no cluster decides: of single users, beside system:masters. upstream: pkg/registry/rbac/validation/rule.go */
import { SYSTEM_MASTERS, type Attributes, type Authorizer } from './auth.ts'

/** What is allowed: each verb, on each resource of each group. A subresource is written `resource/subresource`. upstream: rbac/v1: PolicyRule */
export interface PolicyRule {
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  readonly verbs: readonly string[]
}

/** Allows system:masters everything, the users by whose name there are rules what those say, and nobody else anything. */
export function authorizeByRules(rules: ReadonlyMap<string, readonly PolicyRule[]>): Authorizer {
  return async (attributes) => {
    const { name, groups } = attributes.user
    return { allowed: groups.includes(SYSTEM_MASTERS) || (rules.get(name) ?? []).some((rule) => allows(rule, attributes)) }
  }
}

// upstream: rbac.RuleAllows
function allows({ apiGroups, resources, verbs }: PolicyRule, { verb, group, resource, subresource }: Attributes): boolean {
  const what = subresource === '' ? resource : `${resource}/${subresource}`
  return resource !== '' && verbs.includes(verb) && apiGroups.includes(group) && resources.includes(what)
}
