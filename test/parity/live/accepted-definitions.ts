/** The manifests of test/definitions that are taken, each in a group to itself, so that all of them can be served at once. */
import { encodeJson } from '../../../src/api/codec.ts'
import { checkDefinition } from '../../../src/api/definition-check.ts'
import type { Json, JsonObject } from '../../../src/api/object.ts'
import type { ResourceDefinition } from '../../../src/api/resource.ts'
import { decodeYaml } from '../../../src/api/yaml.ts'
import { COSTS, manifestFiles, readManifests, REFUSED_RULES } from '../../definitions/answers.ts'

/** A definition that both servers serve; `manifest` is the JSON that installs it. */
export interface Accepted {
  readonly name: string
  readonly definition: ResourceDefinition
  readonly manifest: string
}

const KIND = { apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition' }

/** Those that serve a version, and whose versions no webhook converts. */
export function acceptedDefinitions(): Accepted[] {
  const accepted: Accepted[] = []
  for (const file of manifestFiles) {
    // What ours takes and a kube-apiserver does not.
    if (file === REFUSED_RULES || file === COSTS) continue
    for (const { name, place, text } of readManifests(file)) {
      const { definition, refused, strategy } = checkDefinition(Buffer.from(text), 'application/yaml', 'Warn')
      if (definition === undefined || refused.length > 0 || strategy === 'Webhook' || !definition.versions.some(({ served }) => served)) continue
      const group = `${file.replace('.yaml', '')}${place}.example.com`
      const { metadata: _, spec, status: __, ...rest } = decodeYaml(text).value as { spec: JsonObject } & JsonObject
      const manifest: Json = { ...rest, ...KIND, metadata: { name: `${definition.names.plural}.${group}` }, spec: { ...spec, group } }
      accepted.push({ name: `${file} ${place} (${name})`, definition: { ...definition, group }, manifest: encodeJson(manifest) })
    }
  }
  return accepted
}
