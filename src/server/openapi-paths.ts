/**
 * The operations of a resource, as OpenAPI publishes them.
 * upstream: apiextensions-apiserver/pkg/controller/openapi/builder/builder.go: buildRoute; apiserver/pkg/endpoints/openapi/openapi.go: GetOperationIDAndTags
 */
import type { ResourceDefinition, VersionDefinition } from '../api/resource.ts'
import { metaTypeName } from './openapi-meta-types.ts'
import { DELETE_OPTIONS, GET_OPTIONS, LIST_OPTIONS, nameOf, NAMESPACE, PATCH_OPTIONS, PRETTY, WRITE_OPTIONS, type Parameter } from './openapi-parameters.ts'
import { definitionName } from './openapi-schema.ts'

/** One method of a path. Definitions are named in full. */
export interface Operation {
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete'
  readonly id: string
  readonly tag: string
  readonly action: string
  readonly description: string
  readonly groupVersionKind: { readonly group: string; readonly version: string; readonly kind: string }
  readonly parameters: readonly Parameter[]
  readonly body?: { readonly definition: string; readonly required: boolean; readonly mediaTypes: readonly string[] }
  /** What the codes answer with; 401 answers nothing that is described. */
  readonly responses: readonly { readonly code: number; readonly definition: string }[]
}

/** A path with its operations and the parameters that all of them have. */
export interface Path {
  readonly path: string
  readonly parameters: readonly Parameter[]
  readonly operations: readonly Operation[]
}

/** The encodings of bodies and answers. */
export const BODY_TYPES = ['application/json', 'application/yaml']
const MERGE_PATCH = 'application/merge-patch+json'
const PATCH_TYPES = ['application/json-patch+json', MERGE_PATCH, 'application/apply-patch+yaml']

/** The definition of the scale subresource's kind. */
export const SCALE = 'io.k8s.api.autoscaling.v1.Scale'

/** The paths of one version of a resource; of one that is not stored, those of its verbs. */
export function resourcePaths(definition: ResourceDefinition, version: VersionDefinition): Path[] {
  const { group, names, scope } = definition
  const namespaced = scope === 'Namespaced'
  const root = group === '' ? `/api/${version.name}` : `/apis/${group}/${version.name}`
  const collection = namespaced ? `${root}/namespaces/{namespace}/${names.plural}` : `${root}/${names.plural}`
  const make = operationMaker(definition, version)
  const own = namespaced ? [NAMESPACE, PRETTY] : [PRETTY]
  const one = [nameOf(names.kind), ...own]
  const paths: Path[] = [
    { path: collection, parameters: own, operations: [make.list(''), make.create(), make.deleteCollection()] },
    { path: `${collection}/{name}`, parameters: one, operations: [make.read(''), make.replace(''), make.delete(), make.patch('')] },
  ]
  // What all operations of a path take is said of the path, and here there is one.
  if (namespaced) paths.unshift({ path: `${root}/${names.plural}`, parameters: [PRETTY, ...LIST_OPTIONS], operations: [{ ...make.list('ForAllNamespaces'), parameters: [] }] })
  for (const subresource of ['status', 'scale'] as const) {
    if (!version.subresources?.[subresource]) continue
    paths.push({ path: `${collection}/{name}/${subresource}`, parameters: one, operations: [make.read(subresource), make.replace(subresource), make.patch(subresource)] })
  }
  return definition.verbs ? paths.map((path) => limitTo(path, definition.verbs as readonly string[])).filter(({ operations }) => operations.length > 0) : paths
}

const VERBS: Readonly<Record<string, string>> = { post: 'create', put: 'update' }

// What is not stored knows no dry run, no field managers and no versions of its own.
function limitTo(path: Path, verbs: readonly string[]): Path {
  const operations = path.operations.filter(({ action }) => verbs.includes(VERBS[action] ?? action))
  return {
    ...path,
    operations: operations.map((operation) => ({ ...operation, parameters: [], ...(operation.body && operation.action === 'patch' && { body: { ...operation.body, mediaTypes: [MERGE_PATCH] } }) })),
  }
}

type Subresource = '' | 'status' | 'scale'

interface OperationMaker {
  list(suffix: '' | 'ForAllNamespaces'): Operation
  create(): Operation
  deleteCollection(): Operation
  read(subresource: Subresource): Operation
  replace(subresource: Subresource): Operation
  patch(subresource: Subresource): Operation
  delete(): Operation
}

function operationMaker(definition: ResourceDefinition, version: VersionDefinition): OperationMaker {
  const { group, names, scope } = definition
  const { kind } = names
  const object = definitionName(group, version.name, kind)
  const status = metaTypeName('Status')
  const typeOf = (subresource: Subresource) => (subresource === 'scale' ? SCALE : object)
  const answer = (type: string, ...codes: number[]) => codes.map((code) => ({ code, definition: type }))
  const base = (method: Operation['method'], verb: string, action: string, suffix: string) => ({
    method,
    action,
    ...identify(group, version.name, `${verb}${scope === 'Namespaced' && suffix !== 'ForAllNamespaces' ? 'Namespaced' : ''}${kind}${capitalize(suffix)}`),
    groupVersionKind: { group, version: version.name, kind },
  })
  const specified = (subresource: Subresource) => (subresource === '' ? `the specified ${kind}` : `${subresource} of the specified ${kind}`)
  const json = (type: string, required = true) => ({ definition: type, required, mediaTypes: BODY_TYPES })
  return {
    list: (suffix) => ({
      ...base('get', 'list', 'list', suffix), description: `list objects of kind ${kind}`, parameters: LIST_OPTIONS,
      responses: answer(definitionName(group, version.name, names.listKind), 200),
    }),
    create: () => ({ ...base('post', 'create', 'post', ''), description: `create${article(kind)}${kind}`, parameters: WRITE_OPTIONS, body: json(object), responses: answer(object, 200, 201, 202) }),
    deleteCollection: () => ({
      ...base('delete', 'deletecollection', 'deletecollection', ''), description: `delete collection of ${kind}`, parameters: LIST_OPTIONS, responses: answer(status, 200),
    }),
    read: (subresource) => ({
      ...base('get', 'read', 'get', subresource), description: `read ${specified(subresource)}`, parameters: GET_OPTIONS, responses: answer(typeOf(subresource), 200),
    }),
    replace: (subresource) => ({
      ...base('put', 'replace', 'put', subresource), description: `replace ${specified(subresource)}`, parameters: WRITE_OPTIONS,
      body: json(typeOf(subresource)), responses: answer(typeOf(subresource), 200, 201),
    }),
    patch: (subresource) => ({
      ...base('patch', 'patch', 'patch', subresource), description: `partially update ${specified(subresource)}`, parameters: PATCH_OPTIONS,
      body: { definition: metaTypeName('Patch'), required: true, mediaTypes: PATCH_TYPES }, responses: answer(typeOf(subresource), 200),
    }),
    delete: () => ({
      ...base('delete', 'delete', 'delete', ''), description: `delete${article(kind)}${kind}`, parameters: DELETE_OPTIONS,
      body: json(metaTypeName('DeleteOptions'), false), responses: answer(status, 200, 202),
    }),
  }
}

// upstream: apiserver/pkg/endpoints/installer.go GetArticleForNoun, which takes a word with an s at its end for a plural
function article(noun: string): string {
  if (/[^s]s$/.test(noun)) return ' '
  return /^[aeiou]/i.test(noun) ? ' an ' : ' a '
}

// The shortest that fits counts, so deletecollection is split after delete. upstream: verbs.GetPrefix
const VERB_PREFIXES = ['get', 'log', 'read', 'replace', 'patch', 'delete', 'deletecollection', 'watch', 'connect', 'proxy', 'list', 'create']

/** `readNamespacedWidget` → `readMlopsDevV1NamespacedWidget`, and the tag `mlopsDev_v1`. */
function identify(group: string, version: string, name: string): { id: string; tag: string } {
  const verb = VERB_PREFIXES.filter((prefix) => name.startsWith(prefix)).sort((a, b) => a.length - b.length)[0] ?? ''
  const trimmed = group === '' ? 'core' : group.replace(/\.k8s\.io$/, '')
  return {
    id: `${verb}${camelCase(trimmed, true)}${camelCase(version, true)}${camelCase(name.slice(verb.length), true)}`,
    tag: `${camelCase(trimmed, false)}_${camelCase(version, false)}`,
  }
}

// upstream: ToValidOperationID
function camelCase(text: string, capitalizeFirst: boolean): string {
  const words = text.split(/[^\p{L}\p{Nd}_]+/u).filter((word) => word !== '')
  return words.map((word, i) => (i > 0 || capitalizeFirst ? capitalize(word) : word)).join('')
}

function capitalize(word: string): string {
  return word.slice(0, 1).toUpperCase() + word.slice(1)
}
