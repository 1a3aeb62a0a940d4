/** The definitions among the documents of files and folders. */
import { decodeJson, decodeYaml, DecodeError, encodeJson } from '../api/codec.ts'
import { DEFINITION_KIND } from '../api/definition-decode.ts'
import { isObject, parseApiVersion, type Json, type JsonObject } from '../api/object.ts'
import { NOT_RECURSIVE, readManifests, type ManifestDocument } from './definition-files.ts'

/** A document that is to be a definition. `foreign` says that it is none, and what to do; its text then is of no use. */
export interface DefinitionDocument extends ManifestDocument {
  readonly foreign?: string
}

/** What was found. `notes` name what was passed over, one line each. */
export interface DefinitionDocuments {
  readonly documents: readonly DefinitionDocument[]
  readonly faults: readonly string[]
  readonly notes: readonly string[]
}

/**
 * Reads files and folders of definitions, a List (what `kubectl get crd -o yaml` prints) item by item. A folder may hold other documents too, such as a
 * kustomization: they are noted and passed over. A file that is named itself may not.
 */
export async function readDefinitionManifests(paths: readonly string[]): Promise<DefinitionDocuments> {
  const { documents: read, faults } = await readManifests(paths)
  const documents: DefinitionDocument[] = []
  const notes: string[] = []
  for (const whole of read) {
    const parts = itemsOf(whole)
    if (parts.length === 0 && whole.folder === undefined) faults.push(`${whole.place}: the List holds no item`)
    for (const { document, value } of parts) {
      const foreign = value === undefined ? undefined : foreignKind(value)
      if (foreign !== undefined && whole.folder !== undefined) notes.push(`${document.place}: passed over: ${foreign}`)
      // What has no kind is for the check to say.
      else documents.push(foreign !== undefined && value?.kind !== undefined ? { ...document, foreign: `${foreign}: ${NEXT_STEP}` } : document)
    }
  }
  return { documents, faults: [...faults, ...emptyFolders(read, documents)], notes }
}

const NEXT_STEP = 'take it out of this file, or name the folder of the file, in which such documents are passed over'

function emptyFolders(read: readonly ManifestDocument[], documents: readonly DefinitionDocument[]): string[] {
  const folders = new Set(read.flatMap(({ folder }) => folder ?? []))
  for (const { folder } of documents) if (folder !== undefined) folders.delete(folder)
  return [...folders].map((folder) => `${folder}: the folder holds no ${DEFINITION_KIND.kind}; ${NOT_RECURSIVE}`)
}

/** A document, and the object that it is; undefined when it is none, or does not parse. */
interface Parsed {
  readonly document: ManifestDocument
  readonly value: JsonObject | undefined
}

// upstream: apimachinery/pkg/apis/meta/v1/unstructured/helpers.go unstructuredJSONScheme.decodeToList, which also gives items the kind of their list
function itemsOf(document: ManifestDocument): Parsed[] {
  const value = parse(document)
  const listKind = isObject(value) && typeof value.kind === 'string' && Array.isArray(value.items) ? value.kind : ''
  if (!isObject(value) || !listKind.endsWith('List')) return [{ document, value: isObject(value) ? value : undefined }]
  const lacking = listKind === 'List' ? {} : { apiVersion: value.apiVersion ?? '', kind: listKind.slice(0, -'List'.length) }
  return (value.items as Json[]).map((item, i) => {
    const whole = isObject(item) ? { ...lacking, ...item } : item
    return {
      document: { ...document, place: `${document.place}: items[${i}]`, text: encodeJson(whole), mediaType: 'application/json' },
      value: isObject(whole) ? whole : undefined,
    }
  })
}

function parse({ text, mediaType }: ManifestDocument): Json | undefined {
  try {
    return (mediaType === 'application/yaml' ? decodeYaml(text) : decodeJson(text)).value
  } catch (error) {
    if (error instanceof DecodeError) return undefined
    throw error
  }
}

// Of a version that is served no more it is a definition all the same, which the check refuses.
function foreignKind({ apiVersion, kind }: JsonObject): string | undefined {
  const version = typeof apiVersion === 'string' ? apiVersion : ''
  if (kind === DEFINITION_KIND.kind && parseApiVersion(version).group === DEFINITION_KIND.group) return undefined
  return `${typeof kind === 'string' ? `${kind}${version === '' ? '' : ` (${version})`}` : 'what has no kind'} is no ${DEFINITION_KIND.kind}`
}
