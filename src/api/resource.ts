/**
 * A resource is plain data: names, scope and versions, each with its schema, columns, subresources and selectable
 * fields: what a CustomResourceDefinition manifest holds. What data cannot say is a Strategy; how the versions
 * relate is a Conversion (conversion.ts). Nothing in src/api, src/registry or src/server knows a particular kind.
 */
import type { NameRule } from './names.ts'
import type { FieldError } from './status.ts'
import type { KubeObject, JsonObject } from './object.ts'
import type { Schema } from './schema.ts'

/** A column of the table form of a version (additionalPrinterColumns). */
export interface PrinterColumn {
  readonly name: string
  readonly type: 'string' | 'integer' | 'number' | 'boolean' | 'date'
  readonly jsonPath: string
  readonly format?: string
  readonly description?: string
  readonly priority?: number
}

/** The scale subresource of a version. */
export interface ScaleDefinition {
  readonly specReplicasPath: string
  readonly statusReplicasPath: string
  readonly labelSelectorPath?: string
}

/** One version of a resource, in the shape of a CRD manifest's `spec.versions[]`. */
export interface VersionDefinition {
  readonly name: string
  readonly served: boolean
  /** The version that new stores start with; the truth while running is the fence. Exactly one is true. */
  readonly storage: boolean
  readonly deprecated?: boolean
  readonly deprecationWarning?: string
  readonly schema: Schema
  readonly subresources?: { readonly status?: Record<string, never>; readonly scale?: ScaleDefinition }
  readonly additionalPrinterColumns?: readonly PrinterColumn[]
  readonly selectableFields?: readonly { readonly jsonPath: string }[]
}

/** A resource: what a CustomResourceDefinition's `spec` says. `group` is "" for the core group. */
export interface ResourceDefinition {
  readonly group: string
  readonly scope: 'Namespaced' | 'Cluster'
  readonly names: {
    readonly plural: string
    readonly singular: string
    readonly kind: string
    readonly listKind: string
    readonly shortNames?: readonly string[]
    readonly categories?: readonly string[]
  }
  /** In kube-aware order, newest first is not required. */
  readonly versions: readonly VersionDefinition[]
  /** Only of a resource that is made of something else and not stored: the verbs that it has. */
  readonly verbs?: readonly string[]
}

/** What a Strategy function knows about the request besides the objects. */
export interface StrategyContext {
  /** The request version. */
  readonly version: string
  /** The subresource of the request, "" for the resource itself. */
  readonly subresource: string
  /** Milliseconds since the epoch. */
  readonly now: number
}

/**
 * What a definition cannot say, as pure functions. All are optional. Objects are in the request version and
 * must not be mutated. `table` computes columns in code for kinds whose columns no JSONPath gives.
 */
export interface Strategy {
  /**
   * What decoding makes of an object that is written: fields that are only written become those that are kept, and what always is so is
   * there. Writers own the fields of the result; of an applied configuration they own its own.
   */
  settleDecoded?(object: KubeObject): KubeObject
  /** Last change of the object before validation, on create. */
  prepareForCreate?(object: KubeObject, context: StrategyContext): KubeObject
  /** Last change of the object before validation, on update. */
  prepareForUpdate?(object: KubeObject, old: KubeObject, context: StrategyContext): KubeObject
  /** What names of new objects must be, where they are no subdomains. */
  readonly nameRule?: NameRule
  /** Errors beyond schema and CEL. `old` is absent on create. */
  validate?(object: KubeObject, old: KubeObject | undefined, context: StrategyContext): FieldError[]
  /** Refuses a deletion: a message for 403 Forbidden, or nothing. */
  forbidDelete?(object: KubeObject): string | undefined
  /** Something besides metadata.finalizers keeps a deleted object (a namespace's content): the object as it is while it is kept, else nothing. */
  holdDeletion?(object: KubeObject): KubeObject | undefined
  /** A PUT may leave resourceVersion out (kinds of the core group). */
  readonly allowUnconditionalUpdate?: boolean
  /** Columns computed in code; replaces the version's printer columns. */
  readonly columns?: readonly ComputedColumn[]
  /** Further fields for fieldSelector, by label: value of the object ("" when absent). */
  readonly selectableFields?: { readonly [label: string]: (object: KubeObject) => string }
  /** How long after `since(object)` an object lives, for kinds that expire (Event). */
  readonly expire?: { readonly seconds: number; since(object: KubeObject): string | undefined }
  /** Decodes a protobuf body (`application/vnd.kubernetes.protobuf`) of this kind; throws Error on bad input. */
  decodeProtobuf?(bytes: Uint8Array): JsonObject
  /** Strategic merge patch keys by dotted path ("secrets", "ports"): list path → merge key; absent: the kind takes no strategic merge patch. */
  readonly strategicMergeKeys?: { readonly [path: string]: string }
}

/** A table column whose cell is computed in code. */
export interface ComputedColumn extends Omit<PrinterColumn, 'jsonPath'> {
  cell(object: KubeObject, now: number): string | number | boolean | null
}

/** The definition of a version, or undefined. */
export function findVersion(definition: ResourceDefinition, version: string): VersionDefinition | undefined {
  return definition.versions.find((v) => v.name === version)
}

/** The plural.group name that messages and CRDs use; core resources have the bare plural. upstream: schema.GroupResource.String */
export function qualifiedName(definition: ResourceDefinition): string {
  return definition.group === '' ? definition.names.plural : `${definition.names.plural}.${definition.group}`
}
