/** What a webhook must do rightly before it answers anybody. */
import { encodeJson, parseStored } from '../api/codec.ts'
import { formatApiVersion, type Json } from '../api/object.ts'
import { findVersion } from '../api/resource.ts'
import { validateSchema } from '../api/validate.ts'
import type { ConvertedResource, ConvertObject } from './convert-object.ts'

/** A resource, and objects whose hub form is known as canonical JSON. */
export interface CheckedResource extends ConvertedResource {
  readonly samples?: readonly { readonly hub: string }[]
}

/** Throws when a sample does not come back whole from each of its versions, by way of every other. Samples that the present schema refuses are passed over: no annotation may yield them. */
export function checkConversions(resources: readonly CheckedResource[], convert: ConvertObject): void {
  for (const { definition, conversion, samples = [] } of resources) {
    const apiVersions = definition.versions.map(({ name }) => formatApiVersion(definition.group, name))
    const home = formatApiVersion(definition.group, conversion.hub)
    for (const { hub } of samples) {
      const object = parseStored(Buffer.from(hub))
      if (validateSchema(object, findVersion(definition, conversion.hub)?.schema ?? {}).length > 0) continue
      for (const first of apiVersions) {
        for (const second of apiVersions) {
          if (encodeJson(route(object, [first, second, home], convert)) === hub) continue
          throw new Error(`a sample of ${definition.names.kind} does not come back from ${first} by way of ${second}: this webhook would lose data`)
        }
      }
    }
  }
}

function route(object: Json, apiVersions: readonly string[], convert: ConvertObject): Json {
  return apiVersions.reduce<Json>((at, apiVersion) => convert(at, apiVersion), object)
}
