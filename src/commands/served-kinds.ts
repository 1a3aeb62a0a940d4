/** What is served, in words for a terminal. */
import { qualifiedName, type ResourceDefinition } from '../api/resource.ts'

type Served = readonly { readonly definition: ResourceDefinition }[]

/** As many kinds as a person reads. */
const MAX_KINDS = 5

/** The groups that are served: `mlops.dev, example.com`. */
export function servedGroups(served: Served): string {
  return [...new Set(served.map(({ definition }) => definition.group))].join(', ')
}

/**
 * What to ask kubectl for: `get widgets.example.com`; of `own`, our own resources, by the short name, which is theirs here. Definitions of files, which come
 * last, are first; of many kinds some, and how to see all.
 */
export function kubectlGets(served: Served, own: Served): string[] {
  const words = served.toReversed().map((resource) => {
    const short = own.includes(resource) ? resource.definition.names.shortNames?.[0] : undefined
    return `get ${short ?? qualifiedName(resource.definition)}`
  })
  return words.length > MAX_KINDS ? [...words.slice(0, MAX_KINDS), 'api-resources'] : words
}
