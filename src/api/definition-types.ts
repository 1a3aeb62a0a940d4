/**
 * The Go structs of apiextensions.k8s.io/v1 as data: what decoding a manifest accepts, refuses and calls unknown follows from them.
 * upstream: apiextensions-apiserver/pkg/apis/apiextensions/v1/{types,types_jsonschema}.go
 */

/** A Go type as encoding/json sees it. `go` is its name in messages; a pointer keeps its zero value, other fields lose it. */
export type GoType =
  | { readonly kind: 'string' | 'bool' | 'int32' | 'int64' | 'float64' | 'bytes'; readonly go: string; readonly pointer?: true }
  | { readonly kind: 'struct'; readonly go: string; readonly fields: () => Fields; readonly pointer?: true }
  | { readonly kind: 'list' | 'map'; readonly go: string; readonly of: GoType }
  | { readonly kind: 'json' | 'metadata' | 'time'; readonly go: string }
  | { readonly kind: 'schemaOrBool' | 'schemaOrList' | 'schemaOrNames'; readonly go: string }

/** The fields of a struct by their name in JSON. */
export type Fields = ReadonlyMap<string, GoType>

const text: GoType = { kind: 'string', go: 'string' }
const textPointer: GoType = { kind: 'string', go: 'string', pointer: true }
const bool: GoType = { kind: 'bool', go: 'bool' }
const boolPointer: GoType = { kind: 'bool', go: 'bool', pointer: true }
const int64: GoType = { kind: 'int64', go: 'int64' }
const int64Pointer: GoType = { kind: 'int64', go: 'int64', pointer: true }
const floatPointer: GoType = { kind: 'float64', go: 'float64', pointer: true }
const json: GoType = { kind: 'json', go: 'v1.JSON' }

const named = (go: string): GoType => ({ kind: 'string', go: `v1.${go}` })
const list = (of: GoType): GoType => ({ kind: 'list', go: `[]${of.go}`, of })
const struct = (name: string, fields: readonly (readonly [string, GoType])[]): GoType => {
  const map = new Map(fields)
  return { kind: 'struct', go: `v1.${name}`, fields: () => map }
}
const pointer = (type: GoType): GoType => ({ ...type, pointer: true }) as GoType

/** JSONSchemaProps. Its fields are made at first use, since it holds itself. */
export const SCHEMA: GoType = { kind: 'struct', go: 'v1.JSONSchemaProps', fields: () => schemaFields }
const schema = pointer(SCHEMA)
const schemas: GoType = { kind: 'map', go: 'map[string]v1.JSONSchemaProps', of: SCHEMA }
const schemaOrBool: GoType = { kind: 'schemaOrBool', go: 'v1.JSONSchemaPropsOrBool' }

const rule = struct('ValidationRule', [
  ['rule', text],
  ['message', text],
  ['messageExpression', text],
  ['reason', { kind: 'string', go: 'v1.FieldValueErrorReason', pointer: true }],
  ['fieldPath', text],
  ['optionalOldSelf', boolPointer],
])

const schemaFields: Fields = new Map<string, GoType>([
  ['id', text],
  ['$schema', named('JSONSchemaURL')],
  ['$ref', textPointer],
  ['description', text],
  ['type', text],
  ['format', text],
  ['title', text],
  ['default', json],
  ['maximum', floatPointer],
  ['exclusiveMaximum', bool],
  ['minimum', floatPointer],
  ['exclusiveMinimum', bool],
  ['maxLength', int64Pointer],
  ['minLength', int64Pointer],
  ['pattern', text],
  ['maxItems', int64Pointer],
  ['minItems', int64Pointer],
  ['uniqueItems', bool],
  ['multipleOf', floatPointer],
  ['enum', list(json)],
  ['maxProperties', int64Pointer],
  ['minProperties', int64Pointer],
  ['required', list(text)],
  ['items', { kind: 'schemaOrList', go: 'v1.JSONSchemaPropsOrArray' }],
  ['allOf', list(SCHEMA)],
  ['oneOf', list(SCHEMA)],
  ['anyOf', list(SCHEMA)],
  ['not', schema],
  ['properties', schemas],
  ['additionalProperties', schemaOrBool],
  ['patternProperties', schemas],
  ['dependencies', { kind: 'map', go: 'v1.JSONSchemaDependencies', of: { kind: 'schemaOrNames', go: 'v1.JSONSchemaPropsOrStringArray' } }],
  ['additionalItems', schemaOrBool],
  ['definitions', { kind: 'map', go: 'v1.JSONSchemaDefinitions', of: SCHEMA }],
  ['externalDocs', pointer(struct('ExternalDocumentation', [['description', text], ['url', text]]))],
  ['example', json],
  ['nullable', bool],
  ['x-kubernetes-preserve-unknown-fields', boolPointer],
  ['x-kubernetes-embedded-resource', bool],
  ['x-kubernetes-int-or-string', bool],
  ['x-kubernetes-list-map-keys', list(text)],
  ['x-kubernetes-list-type', textPointer],
  ['x-kubernetes-map-type', textPointer],
  ['x-kubernetes-validations', { kind: 'list', go: 'v1.ValidationRules', of: rule }],
])

const names = struct('CustomResourceDefinitionNames', [
  ['plural', text],
  ['singular', text],
  ['shortNames', list(text)],
  ['kind', text],
  ['listKind', text],
  ['categories', list(text)],
])

const scale = struct('CustomResourceSubresourceScale', [
  ['specReplicasPath', text],
  ['statusReplicasPath', text],
  ['labelSelectorPath', textPointer],
])

const column = struct('CustomResourceColumnDefinition', [
  ['name', text],
  ['type', text],
  ['format', text],
  ['description', text],
  ['priority', { kind: 'int32', go: 'int32' }],
  ['jsonPath', text],
])

const version = struct('CustomResourceDefinitionVersion', [
  ['name', text],
  ['served', bool],
  ['storage', bool],
  ['deprecated', bool],
  ['deprecationWarning', textPointer],
  ['schema', pointer(struct('CustomResourceValidation', [['openAPIV3Schema', schema]]))],
  ['subresources', pointer(struct('CustomResourceSubresources', [['status', pointer(struct('CustomResourceSubresourceStatus', []))], ['scale', pointer(scale)]]))],
  ['additionalPrinterColumns', list(column)],
  ['selectableFields', list(struct('SelectableField', [['jsonPath', text]]))],
])

const service = struct('ServiceReference', [
  ['namespace', text],
  ['name', text],
  ['path', textPointer],
  ['port', { kind: 'int32', go: 'int32', pointer: true }],
])

const clientConfig = struct('WebhookClientConfig', [
  ['url', textPointer],
  ['service', pointer(service)],
  ['caBundle', { kind: 'bytes', go: '[]uint8' }],
])

const conversion = struct('CustomResourceConversion', [
  ['strategy', named('ConversionStrategyType')],
  ['webhook', pointer(struct('WebhookConversion', [['clientConfig', pointer(clientConfig)], ['conversionReviewVersions', list(text)]]))],
])

const condition = struct('CustomResourceDefinitionCondition', [
  ['type', named('CustomResourceDefinitionConditionType')],
  ['status', named('ConditionStatus')],
  ['lastTransitionTime', { kind: 'time', go: 'v1.Time' }],
  ['reason', text],
  ['message', text],
  ['observedGeneration', int64],
])

const spec = struct('CustomResourceDefinitionSpec', [
  ['group', text],
  ['names', names],
  ['scope', named('ResourceScope')],
  ['versions', list(version)],
  ['conversion', pointer(conversion)],
  ['preserveUnknownFields', bool],
])

const status = struct('CustomResourceDefinitionStatus', [
  ['conditions', list(condition)],
  ['acceptedNames', names],
  ['storedVersions', list(text)],
  ['observedGeneration', int64],
])

/** CustomResourceDefinition. */
export const DEFINITION: GoType = struct('CustomResourceDefinition', [
  ['kind', text],
  ['apiVersion', text],
  ['metadata', { kind: 'metadata', go: 'v1.ObjectMeta' }],
  ['spec', spec],
  ['status', status],
])
