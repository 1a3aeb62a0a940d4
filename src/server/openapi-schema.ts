/**
 * Structural schemas as OpenAPI publishes them.
 * upstream: apiextensions-apiserver/pkg/controller/openapi/builder/builder.go: buildKubeNative, buildListSchema;
 * .../openapi/v2/conversion.go: ToStructuralOpenAPIV2; .../apiserver/schema/{unfold,kubeopenapi}.go
 */
import type { Json } from '../api/object.ts'
import type { ResourceDefinition, VersionDefinition } from '../api/resource.ts'
import type { Schema } from '../api/schema.ts'
import { API_VERSION_DESCRIPTION, KIND_DESCRIPTION, metaTypeName, referTo, toV2, type Node } from './openapi-meta-types.ts'

/** The two generations of OpenAPI. v2 cannot say everything, and drops what it cannot. */
export type OpenApiForm = 'v2' | 'v3'

const CONVENTIONS = 'https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md'
const METADATA_DESCRIPTION = `Standard object's metadata. More info: ${CONVENTIONS}#metadata`

/** The name of a kind's definition: the labels of the group reversed. upstream: util.ToRESTFriendlyName */
export function definitionName(group: string, version: string, kind: string): string {
  // The core group has no labels: its types have their Go package's name.
  return group === '' ? `io.k8s.api.core.${version}.${kind}` : `${group.split('.').reverse().join('.')}.${version}.${kind}`
}

/** The schema of an object. */
export function objectSchema(definition: ResourceDefinition, version: VersionDefinition, form: OpenApiForm): Node {
  const { schema } = version
  const { group, names } = definition
  // A bare object in v2: with properties clients would take them for the only ones.
  const bare = form === 'v2' && schema['x-kubernetes-preserve-unknown-fields']
  const published: Node = bare ? { type: 'object' } : publish(schema, form)
  if (!bare) published.properties = { ...typeMeta(), ...ownProperties(published), metadata: objectMeta(form) }
  published['x-kubernetes-group-version-kind'] = [{ group, version: version.name, kind: names.kind }]
  return { ...published, ...selectableFields(version) }
}

// The standard fields are ours, whatever the schema says of them.
function ownProperties({ properties = {} }: Node): Node {
  const { apiVersion: _apiVersion, kind: _kind, metadata: _metadata, ...rest } = properties as Node
  return rest
}

/** The schema of a list of objects. */
export function listSchema(definition: ResourceDefinition, version: VersionDefinition, form: OpenApiForm): Node {
  const { group, names } = definition
  const item = referTo(definitionName(group, version.name, names.kind), {})
  const metadata = referTo(metaTypeName('ListMeta'), { description: `Standard list metadata. More info: ${CONVENTIONS}#types-kinds` })
  const schema: Node = {
    type: 'object',
    description: `${names.listKind} is a list of ${names.kind}`,
    required: ['items'],
    properties: {
      ...typeMeta(),
      items: { type: 'array', description: `List of ${names.plural}. More info: ${CONVENTIONS}`, items: form === 'v2' ? toV2(item) : unwrap(item) },
      metadata: form === 'v2' ? toV2(metadata) : metadata,
    },
    'x-kubernetes-group-version-kind': [{ group, version: version.name, kind: names.listKind }],
  }
  return { ...schema, ...selectableFields(version) }
}

// A reference without further keywords needs no allOf around it.
function unwrap(reference: Node): Node {
  return (reference.allOf as Node[])[0] as Node
}

function selectableFields({ selectableFields: fields = [] }: VersionDefinition): Node {
  return fields.length === 0 ? {} : { 'x-kubernetes-selectable-fields': fields.map(({ jsonPath }) => ({ fieldPath: jsonPath.replace(/^\./, '') })) }
}

function typeMeta(): Node {
  return { apiVersion: { type: 'string', description: API_VERSION_DESCRIPTION }, kind: { type: 'string', description: KIND_DESCRIPTION } }
}

function objectMeta(form: OpenApiForm): Node {
  const reference = referTo(metaTypeName('ObjectMeta'), { description: METADATA_DESCRIPTION })
  return form === 'v2' ? toV2(reference) : reference
}

// Not part of a structural schema.
const DROPPED = new Set(['definitions', 'dependencies', 'patternProperties'])
const DROPPED_V2 = new Set([...DROPPED, 'default', 'nullable', 'allOf', 'anyOf', 'oneOf', 'not'])

function publish(schema: Schema, form: OpenApiForm): Node {
  const dropped = form === 'v2' ? DROPPED_V2 : DROPPED
  const out: Node = {}
  for (const [key, value] of Object.entries(schema)) if (!dropped.has(key) && !(Array.isArray(value) && value.length === 0)) out[key] = value as Json
  delete out.properties
  if (Object.keys(schema.properties ?? {}).length > 0) out.properties = mapValues(schema.properties ?? {}, (property) => publish(property, form))
  if (schema.items) out.items = publish(schema.items, form)
  if (typeof schema.additionalProperties === 'object') out.additionalProperties = publish(schema.additionalProperties, form)
  if (form === 'v2') simplify(schema, out)
  else unfoldIntOrString(schema, out)
  if (schema['x-kubernetes-embedded-resource'] && !(form === 'v2' && schema['x-kubernetes-preserve-unknown-fields'])) embed(out, form)
  return out
}

function mapValues(properties: { readonly [name: string]: Schema }, map: (schema: Schema) => Node): Node {
  return Object.fromEntries(Object.entries(properties).map(([name, property]) => [name, map(property)]))
}

// OpenAPI v2 has no type for a value that may be null, may hold unknown fields, or is a list of anything.
function simplify(schema: Schema, out: Node): void {
  const open = schema.nullable || schema['x-kubernetes-preserve-unknown-fields']
  if (open) {
    delete out.properties
    delete out.items
  }
  if (open || (schema.type === 'array' && !schema.items)) delete out.type
  if (!schema.required) return
  const required = schema.required.filter((name) => !(schema.properties && Object.hasOwn(schema.properties, name) && schema.properties[name]?.nullable))
  if (required.length > 0) out.required = required
  else delete out.required
}

const INT_OR_STRING = [{ type: 'integer' }, { type: 'string' }]

function unfoldIntOrString(schema: Schema, out: Node): void {
  if (!schema['x-kubernetes-int-or-string'] || isIntOrString(schema.anyOf) || isIntOrString(schema.allOf?.[0]?.anyOf)) return
  if (schema.anyOf === undefined) out.anyOf = INT_OR_STRING
  else out.allOf = [{ anyOf: INT_OR_STRING }, ...((out.allOf as Node[] | undefined) ?? [])]
}

function isIntOrString(anyOf: readonly Schema[] | undefined): boolean {
  return anyOf?.length === 2 && anyOf[0]?.type === 'integer' && anyOf[1]?.type === 'string'
}

function embed(out: Node, form: OpenApiForm): void {
  const apiVersion = `apiVersion defines the versioned schema of this representation of an object. More info: ${CONVENTIONS}#resources`
  const kind = `kind is a string value representing the type of this object. In CamelCase. More info: ${CONVENTIONS}#types-kinds`
  out.properties = {
    ...(out.properties as Node | undefined),
    apiVersion: { type: 'string', description: apiVersion },
    kind: { type: 'string', description: kind },
    metadata: objectMeta(form),
  }
  const required = (out.required as string[] | undefined) ?? []
  out.required = [...required, ...['kind', 'apiVersion'].filter((name) => !required.includes(name))]
}
