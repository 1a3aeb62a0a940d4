/** `convert`: manifests that people keep, in another version. */
import { decodeJson, decodeYaml, DecodeError, encodeYaml } from '../api/codec.ts'
import { formatApiVersion, isObject, parseApiVersion, type Json, type JsonObject, type KubeObject } from '../api/object.ts'
import { receive, shape } from '../api/receive.ts'
import { findVersion, qualifiedName, type VersionDefinition } from '../api/resource.ts'
import { validateSchema } from '../api/validate.ts'
import type { ServedResource } from '../registry/resource-store.ts'
import { resources as builtIn } from '../resources/index.ts'
import { readManifests, type ManifestDocument } from './definition-files.ts'
import type { Streams } from './definitions.ts'
import { DefinitionsError, loadDefinitions } from './load-definitions.ts'
import { lostFields } from './lost-fields.ts'

/** What `convert` is given. `definitions` and `lenses` are as for `standalone`. */
export interface ConvertOptions extends Streams {
  readonly files: readonly string[]
  readonly to: string
  readonly definitions: readonly string[]
  readonly lenses: readonly string[]
}

/**
 * Prints the manifests as YAML in version `to`, in order; manifests of kinds that are not known stay as they are. On standard error it says which those
 * are, and which fields would not come back the same from `to`. Nothing is printed when one cannot be converted. Resolves to the exit code.
 */
export async function runConvert({ files, to, definitions, lenses, out, err }: ConvertOptions): Promise<number> {
  const { documents, faults } = await readManifests(files)
  const served = await loadServed(definitions, lenses, faults)
  const notes: string[] = []
  const converted = documents.flatMap((document) => convertDocument(document, { to, served, faults, notes }))
  for (const fault of faults) err.write(`${fault}\n`)
  if (faults.length > 0) return 1
  for (const note of notes) err.write(`${note}\n`)
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

interface Run {
  readonly to: string
  readonly served: readonly ServedResource[]
  /** What is in the way, and what is to be known; added to. */
  readonly faults: string[]
  readonly notes: string[]
}

function convertDocument({ place, text, mediaType }: ManifestDocument, { to, served, faults, notes }: Run): Json[] {
  try {
    const { value, duplicates } = mediaType === 'application/yaml' ? decodeYaml(text) : decodeJson(text)
    if (duplicates.length > 0) throw new Faults(duplicates.map((duplicate) => (mediaType === 'application/yaml' ? duplicate : `duplicate field "${duplicate}"`)))
    return [convertValue(value, { to, served, note: (words) => notes.push(`${place}: warning: ${words}`) })]
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

interface Target {
  readonly to: string
  readonly served: readonly ServedResource[]
  readonly note: (words: string) => void
}

function convertValue(value: Json, target: Target): Json {
  if (!isObject(value) || typeof value.apiVersion !== 'string' || typeof value.kind !== 'string') throw new Faults(['is no object with apiVersion and kind'])
  if (value.kind === 'List' && value.apiVersion === 'v1' && Array.isArray(value.items)) {
    return { ...value, items: value.items.map((item) => convertValue(item, target)) }
  }
  const { group, version } = parseApiVersion(value.apiVersion)
  const { kind } = value
  const { served, note } = target
  const resource = served.find(({ definition }) => definition.group === group && definition.names.kind === kind)
  if (resource !== undefined) return convertObject(value, resource, version, target)
  if (served.some(({ definition }) => definition.group === group)) throw new Faults([`no kind ${kind} is known in ${group}`])
  note(`${titleOf(kind, value)} stays as it is: no definition of ${kind} in ${value.apiVersion} is known (--definition names the file of one)`)
  return value
}

function titleOf(kind: string, { metadata }: JsonObject): string {
  return isObject(metadata) && typeof metadata.name === 'string' ? `${kind} "${metadata.name}"` : kind
}

const LOSSES = {
  lost: 'does not come back from',
  changed: 'comes back with another value from',
  added: 'is not here, but comes back from',
} as const

function convertObject(value: JsonObject, { definition, conversion }: ServedResource, from: string, { to, note }: Target): Json {
  const title = titleOf(definition.names.kind, value)
  const [source, target] = [from, to].map((version) => {
    const found = findVersion(definition, version)
    if (found === undefined) throw new Faults([`${title}: there is no version ${formatApiVersion(definition.group, version)}`])
    return found
  }) as [VersionDefinition, VersionDefinition]
  const { object, findings } = receive({ ...value, metadata: value.metadata ?? {} } as KubeObject, source)
  const errors = validateSchema(object, source.schema).map((error) => `${error.field}: ${error.body}`)
  if (findings.length + errors.length > 0) throw new Faults([...findings, ...errors].map((text) => `${title}: ${text}`))
  const hub = findVersion(definition, conversion.hub) as VersionDefinition
  // As what is written in one version is shown in another.
  const convert = (written: KubeObject, { name }: VersionDefinition, shown: VersionDefinition): KubeObject =>
    shape(conversion.show(shape(conversion.lift(written, name), hub, { defaults: false }), shown.name), shown, { defaults: false })
  const converted = convert(object, source, target)
  const back = shape(convert(converted, target, source), source, { defaults: true })
  for (const { path, how } of lostFields(object, back)) note(`${title}: ${path} ${LOSSES[how]} ${to}`)
  return converted
}
