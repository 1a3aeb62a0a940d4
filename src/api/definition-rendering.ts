/**
 * Values of a definition as field errors show them: JSON of upstream's internal structs, which have Go's field names and hold zero values.
 * upstream: apiextensions-apiserver/pkg/apis/apiextensions/{types,types_jsonschema}.go, field.Error.ErrorBody
 */
import { NEITHER, type ColumnProps, type RuleProps, type SchemaMap, type SchemaProps, type SelectableProps, type SubresourcesProps, type VersionProps } from './definition-props.ts'
import { encodeJson, encodeString, sortedKeys } from './json-encode.ts'
import type { Json, JsonObject } from './object.ts'

type Member = readonly [name: string, rendered: string]

const struct = (...members: Member[]): string => `{${members.map(([name, rendered]) => `"${name}":${rendered}`).join(',')}}`
const text = (value: string | undefined): string => encodeString(value ?? '')
const flag = (value: boolean | undefined): string => String(value === true)
const value = (given: unknown): string => (given === undefined ? 'null' : encodeJson(given as Json))
const list = <T>(items: readonly T[] | undefined, render: (item: T) => string): string => (items === undefined ? 'null' : `[${items.map(render).join(',')}]`)
const optional = <T>(given: T | undefined, render: (given: T) => string): string => (given === undefined ? 'null' : render(given))

function map<T>(entries: { readonly [name: string]: T } | undefined, render: (entry: T) => string): string {
  if (entries === undefined) return 'null'
  return `{${sortedKeys(entries as JsonObject).map((name) => `${encodeString(name)}:${render(entries[name] as T)}`).join(',')}}`
}

/** JSONSchemaProps. */
export function renderSchema(schema: SchemaProps): string {
  return struct(
    ['ID', text(schema.id)],
    ['Schema', text(schema.$schema)],
    ['Ref', value(schema.$ref)],
    ['Description', text(schema.description)],
    ['Type', text(schema.type)],
    ['Nullable', flag(schema.nullable)],
    ['Format', text(schema.format)],
    ['Title', text(schema.title)],
    ['Default', value(schema.default)],
    ...limits(schema),
    ['Required', value(schema.required)],
    ['Items', optional(schema.items, renderItems)],
    ['AllOf', list(schema.allOf, renderSchema)],
    ['OneOf', list(schema.oneOf, renderSchema)],
    ['AnyOf', list(schema.anyOf, renderSchema)],
    ['Not', optional(schema.not, renderSchema)],
    ['Properties', schemas(schema.properties)],
    ['AdditionalProperties', optional(schema.additionalProperties, renderOrBool)],
    ['PatternProperties', schemas(schema.patternProperties)],
    ['Dependencies', map(schema.dependencies, renderDependency)],
    ['AdditionalItems', optional(schema.additionalItems, renderOrBool)],
    ['Definitions', schemas(schema.definitions)],
    ['ExternalDocs', optional(schema.externalDocs, (docs) => struct(['Description', text(docs.description)], ['URL', text(docs.url)]))],
    ['Example', value(schema.example)],
    ['XPreserveUnknownFields', value(schema['x-kubernetes-preserve-unknown-fields'])],
    ['XEmbeddedResource', flag(schema['x-kubernetes-embedded-resource'])],
    ['XIntOrString', flag(schema['x-kubernetes-int-or-string'])],
    ['XListMapKeys', value(schema['x-kubernetes-list-map-keys'])],
    ['XListType', value(schema['x-kubernetes-list-type'])],
    ['XMapType', value(schema['x-kubernetes-map-type'])],
    ['XValidations', list(schema['x-kubernetes-validations'], renderRule)],
  )
}

function limits(schema: SchemaProps): Member[] {
  return [
    ['Maximum', value(schema.maximum)],
    ['ExclusiveMaximum', flag(schema.exclusiveMaximum)],
    ['Minimum', value(schema.minimum)],
    ['ExclusiveMinimum', flag(schema.exclusiveMinimum)],
    ['MaxLength', value(schema.maxLength)],
    ['MinLength', value(schema.minLength)],
    ['Pattern', text(schema.pattern)],
    ['MaxItems', value(schema.maxItems)],
    ['MinItems', value(schema.minItems)],
    ['UniqueItems', flag(schema.uniqueItems)],
    ['MultipleOf', value(schema.multipleOf)],
    ['Enum', value(schema.enum)],
    ['MaxProperties', value(schema.maxProperties)],
    ['MinProperties', value(schema.minProperties)],
  ]
}

const schemas = (entries: SchemaMap | undefined): string => map(entries, renderSchema)

/** JSONSchemaPropsOrArray. */
export function renderItems(items: NonNullable<SchemaProps['items']>): string {
  const several = Array.isArray(items)
  const set = items !== NEITHER
  return struct(['Schema', several ? 'null' : renderSchema(items as SchemaProps)], ['JSONSchemas', several && set ? list(items, renderSchema) : 'null'])
}

function renderOrBool(given: SchemaProps | boolean): string {
  if (typeof given === 'boolean') return struct(['Allows', String(given)], ['Schema', 'null'])
  return struct(['Allows', 'true'], ['Schema', renderSchema(given)])
}

function renderDependency(given: SchemaProps | readonly string[]): string {
  const names = Array.isArray(given)
  const set = given !== NEITHER
  return struct(['Schema', names ? 'null' : renderSchema(given as SchemaProps)], ['Property', names && set ? value(given) : 'null'])
}

/** ValidationRule. */
export function renderRule(rule: RuleProps): string {
  return struct(
    ['Rule', text(rule.rule)],
    ['Message', text(rule.message)],
    ['MessageExpression', text(rule.messageExpression)],
    ['Reason', value(rule.reason)],
    ['FieldPath', text(rule.fieldPath)],
    ['OptionalOldSelf', value(rule.optionalOldSelf)],
  )
}

/** The list of versions; null when there are none. */
export function renderVersions(versions: readonly VersionProps[] | undefined): string {
  return list(versions, (version) =>
    struct(
      ['Name', text(version.name)],
      ['Served', flag(version.served)],
      ['Storage', flag(version.storage)],
      ['Deprecated', flag(version.deprecated)],
      ['DeprecationWarning', value(version.deprecationWarning)],
      ['Schema', optional(version.schema, (schema) => struct(['OpenAPIV3Schema', optional(schema.openAPIV3Schema, renderSchema)]))],
      ['Subresources', optional(version.subresources, renderSubresources)],
      ['AdditionalPrinterColumns', list(version.additionalPrinterColumns, renderColumn)],
      ['SelectableFields', list(version.selectableFields, (field: SelectableProps) => struct(['JSONPath', text(field.jsonPath)]))],
    ),
  )
}

function renderSubresources({ status, scale }: SubresourcesProps): string {
  const renderedScale = optional(scale, (given) =>
    struct(
      ['SpecReplicasPath', text(given.specReplicasPath)],
      ['StatusReplicasPath', text(given.statusReplicasPath)],
      ['LabelSelectorPath', value(given.labelSelectorPath)],
    ),
  )
  return struct(['Status', status === undefined ? 'null' : '{}'], ['Scale', renderedScale])
}

function renderColumn(column: ColumnProps): string {
  return struct(
    ['Name', text(column.name)],
    ['Type', text(column.type)],
    ['Format', text(column.format)],
    ['Description', text(column.description)],
    ['Priority', String(column.priority ?? 0)],
    ['JSONPath', text(column.jsonPath)],
  )
}
