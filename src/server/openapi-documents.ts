/**
 * OpenAPI documents from definitions: v3, one for each group and version, and v2, one for all.
 * upstream: kube-openapi/pkg/builder3/openapi.go, kube-openapi/pkg/builder/openapi.go
 */
import type { ResourceDefinition } from '../api/resource.ts'
import { servedGroups, servedResources } from './discovery.ts'
import { META_TYPES, metaTypeName, referTo, toV2, type Node } from './openapi-meta-types.ts'
import type { Parameter } from './openapi-parameters.ts'
import { BODY_TYPES, resourcePaths, SCALE, type Operation, type Path } from './openapi-paths.ts'
import { definitionName, listSchema, objectSchema, type OpenApiForm } from './openapi-schema.ts'
import { SCALE_TYPES } from './openapi-scale-types.ts'

const INFO = { title: 'Kubernetes CRD Swagger', version: 'v0.1.0' }

/** The OpenAPI v3 document of a group and version; undefined where nothing is served. */
export function openApiV3(definitions: readonly ResourceDefinition[], group: string, version: string): Node | undefined {
  const served = servedResources(definitions, group, version)
  if (served.length === 0) return undefined
  const paths = served.flatMap((s) => resourcePaths(s.definition, s.version))
  return {
    openapi: '3.0.0',
    info: INFO,
    paths: Object.fromEntries(paths.map((path) => [path.path, pathV3(path)])),
    components: { schemas: schemas(served, paths, 'v3') },
  }
}

/** The OpenAPI v2 document of everything that is served. */
export function openApiV2(definitions: readonly ResourceDefinition[]): Node {
  const served = servedGroups(definitions).flatMap(({ group, versions }) => versions.flatMap((version) => servedResources(definitions, group, version)))
  const paths = served.flatMap((s) => resourcePaths(s.definition, s.version))
  return {
    swagger: '2.0',
    info: INFO,
    paths: Object.fromEntries(paths.map((path) => [path.path, pathV2(path)])),
    definitions: schemas(served, paths, 'v2'),
  }
}

function schemas(served: ReturnType<typeof servedResources>, paths: readonly Path[], form: OpenApiForm): Node {
  const own = served.flatMap(({ definition, version }) => {
    const { group, names } = definition
    return [
      [definitionName(group, version.name, names.kind), objectSchema(definition, version, form)],
      ...(definition.verbs?.includes('list') === false ? [] : [[definitionName(group, version.name, names.listKind), listSchema(definition, version, form)] as const]),
    ] as const
  })
  const shared = Object.entries(META_TYPES).map(([name, type]) => [metaTypeName(name), type] as const)
  const scaled = paths.some(({ operations }) => operations.some(({ responses }) => responses.some((r) => r.definition === SCALE)))
  const common = [...shared, ...(scaled ? Object.entries(SCALE_TYPES) : [])].map(([name, type]) => [name, form === 'v2' ? toV2(type) : type] as const)
  return Object.fromEntries([...own, ...common])
}

function pathV3({ parameters, operations }: Path): Node {
  return { ...Object.fromEntries(operations.map((operation) => [operation.method, operationV3(operation)])), parameters: parameters.map(parameterV3) }
}

function operationV3(operation: Operation): Node {
  const { body, responses } = operation
  const content = (definition: string, mediaTypes: readonly string[]): Node =>
    Object.fromEntries(mediaTypes.map((mediaType) => [mediaType, { schema: (referTo(definition, {}).allOf as Node[])[0] as Node }]))
  return {
    ...described(operation),
    ...(operation.parameters.length > 0 ? { parameters: operation.parameters.map(parameterV3) } : {}),
    ...(body ? { requestBody: { content: content(body.definition, body.mediaTypes), ...(body.required ? { required: true } : {}) } } : {}),
    responses: {
      ...Object.fromEntries(responses.map(({ code, definition }) => [String(code), { description: CODE_TEXTS[code] ?? '', content: content(definition, BODY_TYPES) }])),
      '401': { description: 'Unauthorized' },
    },
    ...extended(operation),
  }
}

const CODE_TEXTS: Readonly<Record<number, string>> = { 200: 'OK', 201: 'Created', 202: 'Accepted' }

function described({ description, id, tag }: Operation): Node {
  return { tags: [tag], description, operationId: id }
}

function extended({ action, groupVersionKind }: Operation): Node {
  return { 'x-kubernetes-action': action, 'x-kubernetes-group-version-kind': { ...groupVersionKind } }
}

function parameterV3({ name, in: place, type, description }: Parameter): Node {
  return { name, in: place, description, ...(place === 'path' ? { required: true } : {}), schema: { type, uniqueItems: true } }
}

function pathV2({ parameters, operations }: Path): Node {
  return { ...Object.fromEntries(operations.map((operation) => [operation.method, operationV2(operation)])), parameters: parameters.map(parameterV2) }
}

function operationV2(operation: Operation): Node {
  const { body, responses } = operation
  const bodyParameter: Node[] = body ? [{ name: 'body', in: 'body', ...(body.required ? { required: true } : {}), schema: toV2(referTo(body.definition, {})) }] : []
  return {
    ...described(operation),
    consumes: [...(body?.mediaTypes ?? BODY_TYPES)],
    produces: [...BODY_TYPES],
    schemes: ['https'],
    ...(body || operation.parameters.length > 0 ? { parameters: [...bodyParameter, ...operation.parameters.map(parameterV2)] } : {}),
    responses: {
      ...Object.fromEntries(responses.map(({ code, definition }) => [String(code), { description: CODE_TEXTS[code] ?? '', schema: toV2(referTo(definition, {})) }])),
      '401': { description: 'Unauthorized' },
    },
    ...extended(operation),
  }
}

function parameterV2({ name, in: place, type, description }: Parameter): Node {
  return { name, in: place, description, type, uniqueItems: true, ...(place === 'path' ? { required: true } : {}) }
}
