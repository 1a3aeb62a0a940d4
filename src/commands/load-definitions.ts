/** `--definition` and `--lenses`: what is served besides our own resources, from CustomResourceDefinition manifests. */
import { checkDefinition, type DefinitionCheck } from '../api/definition-check.ts'
import { compileConversion, noConversion } from '../api/lens-conversion.ts'
import { LensFileError, readLenses, type LensFile } from '../api/lens-read.ts'
import { qualifiedName, type ResourceDefinition } from '../api/resource.ts'
import { decodeJson, decodeYaml, DecodeError } from '../api/codec.ts'
import type { ServedResource } from '../registry/resource-store.ts'
import { readDefinitionManifests } from './definition-documents.ts'
import { readManifests, type ManifestDocument } from './definition-files.ts'

/** Definitions or lenses that cannot be served; `faults` are all that is wrong, one line each, with file and document. */
export class DefinitionsError extends Error {
  readonly faults: readonly string[]
  constructor(faults: readonly string[]) {
    super(faults.join('\n'))
    this.name = 'DefinitionsError'
    this.faults = faults
  }
}

/** A manifest that was checked, and where it stands. */
interface Loaded {
  readonly place: string
  readonly check: DefinitionCheck
}

/** `lenses`: files and folders of lenses (lens-read.ts). `warn` is told of what a kube-apiserver would warn of, unknown fields above all, and of what is passed over. */
export interface LoadOptions {
  readonly lenses?: readonly string[]
  readonly warn?: (text: string) => void
}

/**
 * Reads files and folders of manifests (.yaml, .yml, .json; several documents). The conversion is that of the lenses, where there are
 * some for the resource, else None. Rejects with DefinitionsError.
 */
export async function loadDefinitions(paths: readonly string[], { lenses: lensPaths = [], warn }: LoadOptions = {}): Promise<ServedResource[]> {
  const { documents, faults: unread, notes } = await readDefinitionManifests(paths)
  const foreign = documents.flatMap(({ place, foreign: text }) => (text === undefined ? [] : [`${place}: ${text}`]))
  const faults = [...unread, ...foreign]
  for (const note of notes) warn?.(note)
  const loaded = documents
    .filter((document) => document.foreign === undefined)
    .map((document): Loaded => ({ place: document.place, check: checkDefinition(Buffer.from(document.text), document.mediaType, 'Warn') }))
  for (const { place, check } of loaded) for (const text of check.warnings) warn?.(`${place}: ${check.name}: ${text}`)
  for (const { place, check } of loaded) faults.push(...faultsOf(check).map((fault) => `${place}: ${fault}`))
  faults.push(...clashes(loaded))
  const lenses = await loadLenses(lensPaths, faults)
  const resources = loaded.flatMap(({ place, check }) => serve(place, check, lenses, faults))
  for (const [resource, { place }] of lenses) {
    if (!loaded.some(({ check }) => check.name === resource)) faults.push(`${place}: there is no definition of ${resource}: give it with --definition`)
  }
  if (faults.length > 0) throw new DefinitionsError(faults)
  return resources
}

/** What keeps a definition from being served, without its conversion: upstream's errors, and rules that only we refuse. */
export function faultsOf({ name, status, refused }: DefinitionCheck): string[] {
  const causes = status.details?.causes?.map((cause) => `${cause.field}: ${cause.message}`)
  const errors = status.status === 'Success' ? [] : (causes ?? [status.message ?? ''])
  const lead = name === '' ? '' : `${name}: `
  return [...errors, ...refused.map(({ field, text }) => `${field}: ${notServed(text)}`)].map((fault) => lead + fault)
}

/** How a rule that upstream may take is named, so that nobody takes it for upstream's text. */
export function notServed(text: string): string {
  return `not served by mlops-apiserver: ${text}`
}

type Lenses = Map<string, { readonly place: string; readonly file: LensFile }>

async function loadLenses(paths: readonly string[], faults: string[]): Promise<Lenses> {
  const lenses: Lenses = new Map()
  const { documents, faults: unread } = await readManifests(paths)
  faults.push(...unread)
  for (const document of documents) {
    try {
      const file = readLenses(decode(document))
      if (lenses.has(file.resource)) faults.push(`${document.place}: there are two files of lenses of ${file.resource}`)
      lenses.set(file.resource, { place: document.place, file })
    } catch (error) {
      if (error instanceof LensFileError) faults.push(...error.faults.map((fault) => `${document.place}: ${fault}`))
      else if (error instanceof DecodeError) faults.push(`${document.place}: ${error.message}`)
      else throw error
    }
  }
  return lenses
}

function decode({ text, mediaType }: ManifestDocument): ReturnType<typeof decodeYaml>['value'] {
  return mediaType === 'application/yaml' ? decodeYaml(text).value : decodeJson(text).value
}

function serve(place: string, { name, definition, strategy }: DefinitionCheck, lenses: Lenses, faults: string[]): ServedResource[] {
  if (definition === undefined) return []
  const found = lenses.get(name)
  if (found === undefined && strategy === 'Webhook') {
    faults.push(`${place}: ${name}: spec.conversion.strategy: Webhook is not served; give the lenses between its versions with --lenses, or use None`)
    return []
  }
  if (found === undefined) return [{ definition, conversion: noConversion(definition), fromFile: true }]
  try {
    return [{ definition, conversion: compileConversion(definition, found.file.lenses), fromFile: true }]
  } catch (error) {
    faults.push(`${found.place}: ${(error as Error).message}`)
    return []
  }
}

// upstream: the NamesAccepted condition (pkg/controller/status/naming_controller.go), which refuses names that another definition of the group has.
function clashes(loaded: readonly Loaded[]): string[] {
  const faults: string[] = []
  const taken = new Map<string, string>()
  const claim = (kind: string, name: string, place: string, field: string): void => {
    const key = `${kind} ${name}`
    const before = taken.get(key)
    if (before === undefined) taken.set(key, place)
    else if (before !== place) faults.push(`${place}: ${field}: "${name}" is already in use by ${before}`)
  }
  for (const { place, check } of loaded) if (check.definition !== undefined) claimNames(check.definition, place, claim)
  return faults
}

function claimNames(definition: ResourceDefinition, place: string, claim: (kind: string, name: string, place: string, field: string) => void): void {
  const { group, names } = definition
  const lead = `${qualifiedName(definition)}: spec.names.`
  claim(`${group} resource`, names.plural, place, `${lead}plural`)
  if (names.singular !== names.plural) claim(`${group} resource`, names.singular, place, `${lead}singular`)
  for (const [i, name] of (names.shortNames ?? []).entries()) claim(`${group} resource`, name, place, `${lead}shortNames[${i}]`)
  claim(`${group} kind`, names.kind, place, `${lead}kind`)
  if (names.listKind !== names.kind) claim(`${group} kind`, names.listKind, place, `${lead}listKind`)
}
