/**
 * Structural schemas: the subset of OpenAPI v3 that a CustomResourceDefinition may use,
 * and the object types that follow from a schema literal.
 * upstream: apiextensions-apiserver/pkg/apiserver/schema/structural.go
 */
import type { Json } from './object.ts'

/** One CEL rule (x-kubernetes-validations). */
export interface ValidationRule {
  readonly rule: string
  readonly message?: string
  readonly messageExpression?: string
  readonly reason?: 'FieldValueInvalid' | 'FieldValueForbidden' | 'FieldValueRequired' | 'FieldValueDuplicate'
  readonly fieldPath?: string
  readonly optionalOldSelf?: boolean
}

/** A node of a structural schema, exactly as it is written in a CRD manifest (JSONSchemaProps). */
export interface Schema {
  readonly type?: 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean'
  readonly format?: string
  readonly title?: string
  readonly description?: string
  readonly default?: Json
  readonly nullable?: boolean
  readonly enum?: readonly Json[]
  readonly pattern?: string
  readonly minLength?: number
  readonly maxLength?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly exclusiveMinimum?: boolean
  readonly exclusiveMaximum?: boolean
  readonly multipleOf?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly uniqueItems?: boolean
  readonly minProperties?: number
  readonly maxProperties?: number
  readonly required?: readonly string[]
  readonly properties?: { readonly [name: string]: Schema }
  readonly additionalProperties?: Schema | boolean
  readonly items?: Schema
  readonly allOf?: readonly Schema[]
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly not?: Schema
  readonly externalDocs?: { readonly url?: string; readonly description?: string }
  readonly example?: Json
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean
  readonly 'x-kubernetes-embedded-resource'?: boolean
  readonly 'x-kubernetes-int-or-string'?: boolean
  readonly 'x-kubernetes-list-type'?: 'atomic' | 'set' | 'map'
  readonly 'x-kubernetes-list-map-keys'?: readonly string[]
  readonly 'x-kubernetes-map-type'?: 'granular' | 'atomic'
  readonly 'x-kubernetes-validations'?: readonly ValidationRule[]
}

type Simplify<T> = { [K in keyof T]: T[K] } & {}

type Properties<P extends { readonly [name: string]: Schema }, R> = Simplify<
  { -readonly [K in keyof P as K extends R ? K : never]: FromSchema<P[K]> } & {
    -readonly [K in keyof P as K extends R ? never : K]?: FromSchema<P[K]>
  }
>

type RequiredOf<S> = S extends { readonly required: readonly (infer R)[] } ? R : never

/** The TypeScript type of the values that a schema literal (`as const satisfies Schema`) describes. Defaults are not applied to it. */
export type FromSchema<S extends Schema> = S extends { readonly 'x-kubernetes-int-or-string': true }
  ? number | string
  : S extends { readonly enum: readonly (infer E)[] }
    ? E
    : S extends { readonly type: 'string' }
      ? string
      : S extends { readonly type: 'integer' | 'number' }
        ? number
        : S extends { readonly type: 'boolean' }
          ? boolean
          : S extends { readonly type: 'array'; readonly items: infer I extends Schema }
            ? FromSchema<I>[]
            : S extends { readonly properties: infer P extends { readonly [name: string]: Schema } }
              ? Properties<P, RequiredOf<S>>
              : S extends { readonly additionalProperties: infer A extends Schema }
                ? { [key: string]: FromSchema<A> }
                : Json
