/**
 * A decoded CustomResourceDefinition manifest: what decodeGoStruct makes of one, with zero values left out.
 * upstream: apiextensions-apiserver/pkg/apis/apiextensions/v1/{types,types_jsonschema}.go
 */
import type { Json, ObjectMeta } from './object.ts'

/** JSONSchemaProps as a manifest may hold it, with all that validation then refuses. `items` may be a list of schemas. */
export interface SchemaProps {
  readonly id?: string
  readonly $schema?: string
  readonly $ref?: string
  readonly description?: string
  readonly type?: string
  readonly nullable?: boolean
  readonly format?: string
  readonly title?: string
  readonly default?: Json
  readonly maximum?: number
  readonly exclusiveMaximum?: boolean
  readonly minimum?: number
  readonly exclusiveMinimum?: boolean
  readonly maxLength?: number
  readonly minLength?: number
  readonly pattern?: string
  readonly maxItems?: number
  readonly minItems?: number
  readonly uniqueItems?: boolean
  readonly multipleOf?: number
  readonly enum?: readonly Json[]
  readonly maxProperties?: number
  readonly minProperties?: number
  readonly required?: readonly string[]
  readonly items?: SchemaProps | readonly SchemaProps[]
  readonly allOf?: readonly SchemaProps[]
  readonly oneOf?: readonly SchemaProps[]
  readonly anyOf?: readonly SchemaProps[]
  readonly not?: SchemaProps
  readonly properties?: SchemaMap
  readonly additionalProperties?: SchemaProps | boolean
  readonly patternProperties?: SchemaMap
  readonly dependencies?: { readonly [name: string]: SchemaProps | readonly string[] }
  readonly additionalItems?: SchemaProps | boolean
  readonly definitions?: SchemaMap
  readonly externalDocs?: { readonly description?: string; readonly url?: string }
  readonly example?: Json
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean
  readonly 'x-kubernetes-embedded-resource'?: boolean
  readonly 'x-kubernetes-int-or-string'?: boolean
  readonly 'x-kubernetes-list-map-keys'?: readonly string[]
  readonly 'x-kubernetes-list-type'?: string
  readonly 'x-kubernetes-map-type'?: string
  readonly 'x-kubernetes-validations'?: readonly RuleProps[]
}

/** What `items` or a dependency is decoded into where it is neither of the two things that it may be: set, but to nothing. */
export const NEITHER: readonly [] = Object.freeze([] as [])

/** Schemas by name. */
export type SchemaMap = { readonly [name: string]: SchemaProps }

/** One rule of x-kubernetes-validations. */
export interface RuleProps {
  readonly rule?: string
  readonly message?: string
  readonly messageExpression?: string
  readonly reason?: string
  readonly fieldPath?: string
  readonly optionalOldSelf?: boolean
}

/** spec.names. */
export interface NamesProps {
  readonly plural?: string
  readonly singular?: string
  readonly shortNames?: readonly string[]
  readonly kind?: string
  readonly listKind?: string
  readonly categories?: readonly string[]
}

/** The subresources of a version. */
export interface SubresourcesProps {
  readonly status?: object
  readonly scale?: { readonly specReplicasPath?: string; readonly statusReplicasPath?: string; readonly labelSelectorPath?: string }
}

/** A printer column. */
export interface ColumnProps {
  readonly name?: string
  readonly type?: string
  readonly format?: string
  readonly description?: string
  readonly priority?: number
  readonly jsonPath?: string
}

/** A selectable field. */
export interface SelectableProps {
  readonly jsonPath?: string
}

/** One of spec.versions. */
export interface VersionProps {
  readonly name?: string
  readonly served?: boolean
  readonly storage?: boolean
  readonly deprecated?: boolean
  readonly deprecationWarning?: string
  readonly schema?: { readonly openAPIV3Schema?: SchemaProps }
  readonly subresources?: SubresourcesProps
  readonly additionalPrinterColumns?: readonly ColumnProps[]
  readonly selectableFields?: readonly SelectableProps[]
}

/** spec.conversion. */
export interface ConversionProps {
  readonly strategy?: string
  readonly webhook?: {
    readonly clientConfig?: {
      readonly url?: string
      readonly service?: { readonly namespace?: string; readonly name?: string; readonly path?: string; readonly port?: number }
      readonly caBundle?: string
    }
    readonly conversionReviewVersions?: readonly string[]
  }
}

/** A whole manifest. */
export interface DefinitionProps {
  readonly metadata: ObjectMeta
  readonly spec: {
    readonly group?: string
    readonly names: NamesProps
    readonly scope?: string
    readonly versions?: readonly VersionProps[]
    readonly conversion: ConversionProps
    readonly preserveUnknownFields?: boolean
  }
}

/** The schema of items, undefined where there is none or where there are several. */
export function itemSchema(schema: SchemaProps): SchemaProps | undefined {
  return Array.isArray(schema.items) ? undefined : (schema.items as SchemaProps | undefined)
}

/** The schema of additionalProperties, undefined where it is a boolean or absent. */
export function additionalSchema(schema: SchemaProps): SchemaProps | undefined {
  return typeof schema.additionalProperties === 'object' ? schema.additionalProperties : undefined
}

/** A property's schema, undefined where there is none of that name. */
export function propertySchema(schema: SchemaProps, name: string): SchemaProps | undefined {
  return schema.properties !== undefined && Object.hasOwn(schema.properties, name) ? schema.properties[name] : undefined
}
