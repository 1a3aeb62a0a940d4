/** What the steps of src/api/managed-fields need to know of a resource and of the live object. */
import { parseApiVersion, type KubeObject } from '../api/object.ts'
import type { Endpoint } from '../api/managed-fields/scope.ts'
import type { ResourceStore } from './resource-store.ts'
import type { WriteOptions } from './write.ts'

/** The endpoint of a write. `live` is the live object in hub form: what a version cannot show is taken from it. */
export function endpointOf(store: ResourceStore, options: Pick<WriteOptions, 'version' | 'subresource'>, live: KubeObject | undefined): Endpoint {
  const { definition, conversion, codec } = store
  return {
    definition,
    version: options.version,
    subresource: options.subresource,
    ...(conversion.renamesOnly ? {} : { convert }),
  }

  function convert(object: KubeObject, version: string, original?: KubeObject): KubeObject {
    const base = original ? conversion.lift(original, options.version, live) : live
    return codec.view(conversion.lift(object, parseApiVersion(object.apiVersion).version, base), version)
  }
}
