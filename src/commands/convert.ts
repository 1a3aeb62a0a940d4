/** `convert`: manifests that people keep, in another version. */
import { decodeJson, decodeYaml, DecodeError, encodeYaml } from '../api/codec.ts'
import { formatApiVersion, isObject, parseApiVersion, type Json, type JsonObject, type KubeObject } from '../api/object.ts'
import { receive } from '../api/receive.ts'
import { findVersion, qualifiedName } from '../api/resource.ts'
import { validateSchema } from '../api/validate.ts'
import type { ServedResource } from '../registry/resource-store.ts'
import { resources as builtIn } from '../resources/index.ts'
import { readManifests, type ManifestDocument } from './definition-files.ts'
import type { Streams } from './definitions.ts'
import { DefinitionsError, loadDefinitions } from './load-definitions.ts'

/** What `convert` is given. `definitions` and `lenses` are as for `standalone`. */
export interface ConvertOptions extends Streams {
  readonly files: readonly string[]
  readonly to: string
  readonly definitions: readonly string[]
  readonly lenses: readonly string[]
}

/**
 * Prints the manifests as YAML in version `to`, in order; manifests of kinds that are not served stay as they are. Nothing is printed
 * when one cannot be converted. Resolves to the exit code.
 */
export async function runConvert({ files, to, definitions, lenses, out, err }: ConvertOptions): Promise<number> {
  const { documents, faults } = await readManifests(files)
  const served = await loadServed(definitions, lenses, faults)
  const converted = documents.flatMap((document) => convertDocument(document, to, served, faults))
  for (const fault of faults) err.write(`${fault}\n`)
  if (faults.length > 0) return 1
  out.write(converted.map(encodeYaml).join('---\n'))
  return 0
}

async function loadServed(definitions: readonly string[], lenses: readonly string[], faults: string[]): Promise<ServedResource[]> {
  try {
    const loaded = await loadDefinitions(definitions, { lenses })
    const names = new Set(loaded.map(({ definition }) => qualifiedName(definition)))
    return [...loaded, ...builtIn.filter(({ definition }) => !names.has(qualifiedName(definition)))]
  } catch (error) {
    if (!(error instanceof DefinitionsError)) throw error
    faults.push(...error.faults)
    return []
  }
}

function convertDocument({ place, text, mediaType }: ManifestDocument, to: string, served: readonly ServedResource[], faults: string[]): Json[] {
  try {
    const { value, duplicates } = mediaType === 'application/yaml' ? decodeYaml(text) : decodeJson(text)
    if (duplicates.length > 0) throw new Faults(duplicates.map((duplicate) => (mediaType === 'application/yaml' ? duplicate : `duplicate field "${duplicate}"`)))
    return [convertValue(value, to, served)]
  } catch (error) {
    if (error instanceof Faults) faults.push(...error.faults.map((fault) => `${place}: ${fault}`))
    else if (error instanceof DecodeError) faults.push(`${place}: ${error.message}`)
    else throw error
    return []
  }
}

/** Why a manifest cannot be converted. */
class Faults extends Error {
  readonly faults: readonly string[]
  constructor(faults: readonly string[]) {
    super(faults.join('\n'))
    this.faults = faults
  }
}

function convertValue(value: Json, to: string, served: readonly ServedResource[]): Json {
  if (!isObject(value) || typeof value.apiVersion !== 'string' || typeof value.kind !== 'string') throw new Faults(['is no object with apiVersion and kind'])
  if (value.kind === 'List' && value.apiVersion === 'v1' && Array.isArray(value.items)) {
    return { ...value, items: value.items.map((item) => convertValue(item, to, served)) }
  }
  const { group, version } = parseApiVersion(value.apiVersion)
  const { kind } = value
  const resource = served.find(({ definition }) => definition.group === group && definition.names.kind === kind)
  if (resource !== undefined) return convertObject(value, resource, { from: version, to })
  if (served.some(({ definition }) => definition.group === group)) throw new Faults([`no kind ${kind} is known in ${group}`])
  return value
}

function convertObject(value: JsonObject, { definition, conversion }: ServedResource, { from, to }: { readonly from: string; readonly to: string }): Json {
  const name = isObject(value.metadata) && typeof value.metadata.name === 'string' ? ` "${value.metadata.name}"` : ''
  const lead = `${definition.names.kind}${name}: `
  const source = findVersion(definition, from)
  for (const version of [from, to]) {
    if (findVersion(definition, version) === undefined) throw new Faults([`${lead}there is no version ${formatApiVersion(definition.group, version)}`])
  }
  if (source === undefined) return value
  const { object, findings } = receive({ ...value, metadata: value.metadata ?? {} } as KubeObject, source)
  const errors = validateSchema(object, source.schema).map((error) => `${error.field}: ${error.body}`)
  if (findings.length + errors.length > 0) throw new Faults([...findings, ...errors].map((text) => lead + text))
  return conversion.show(conversion.lift(object, from), to)
}
