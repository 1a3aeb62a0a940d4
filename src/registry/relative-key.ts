/** Where an object of a resource is stored. */
import type { ResourceDefinition } from '../api/resource.ts'

/** Key of an object relative to its resource's prefix. */
export function relativeKey(definition: ResourceDefinition, namespace: string, name: string): string {
  return definition.scope === 'Namespaced' ? `${namespace}/${name}` : name
}
