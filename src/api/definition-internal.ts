/**
 * A manifest in the form in which upstream checks it: what all versions share stands at the top of the spec, so that errors name it there.
 * upstream: apiextensions-apiserver/pkg/apis/apiextensions/v1/conversion.go Convert_v1_CustomResourceDefinitionSpec_To_apiextensions_CustomResourceDefinitionSpec
 */
import type { ColumnProps, ConversionProps, DefinitionProps, NamesProps, SelectableProps, SubresourcesProps, VersionProps } from './definition-props.ts'
import { isObject, type Json, type JsonObject } from './object.ts'

/** The internal form of a spec. */
export interface InternalSpec {
  readonly group: string
  readonly names: NamesProps
  readonly scope: string
  readonly versions: readonly VersionProps[] | undefined
  readonly validation: VersionProps['schema']
  readonly subresources: SubresourcesProps | undefined
  readonly additionalPrinterColumns: readonly ColumnProps[] | undefined
  readonly selectableFields: readonly SelectableProps[] | undefined
  readonly conversion: ConversionProps
  readonly preserveUnknownFields: boolean
}

const SHARED = ['schema', 'subresources', 'additionalPrinterColumns', 'selectableFields'] as const

/** The internal form of a manifest's spec. */
export function internalSpec({ spec }: DefinitionProps): InternalSpec {
  const versions = spec.versions ?? []
  const [first] = versions
  const shared = SHARED.filter((key) => first !== undefined && versions.every((version) => semanticEqual(version[key] as Json | undefined, first[key] as Json | undefined)))
  const top = Object.fromEntries(shared.map((key) => [key, first?.[key]])) as Partial<VersionProps>
  return {
    group: spec.group ?? '',
    names: spec.names,
    scope: spec.scope ?? '',
    versions: spec.versions?.map((version) => Object.fromEntries(Object.entries(version).filter(([key]) => !(shared as string[]).includes(key))) as VersionProps),
    validation: top.schema,
    subresources: top.subresources,
    additionalPrinterColumns: top.additionalPrinterColumns,
    selectableFields: top.selectableFields,
    conversion: spec.conversion,
    preserveUnknownFields: spec.preserveUnknownFields === true,
  }
}

// Of a schema; other members that may be empty objects are pointers to structs.
const MAPS = new Set(['properties', 'patternProperties', 'dependencies', 'definitions'])
// Pointers, whatever they point to.
const POINTERS = new Set(['items', 'default', 'example'])

function equalMaps(a: JsonObject, b: JsonObject): boolean {
  const keys = Object.keys(a)
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && semanticEqual(a[key], b[key]))
}

// upstream: equality.Semantic.DeepEqual, for which an empty list or map is as good as none. Pointers to empty structs are not.
function semanticEqual(a: Json | undefined, b: Json | undefined, key = ''): boolean {
  if ((a === undefined) !== (b === undefined) && POINTERS.has(key)) return false
  if (MAPS.has(key)) return equalMaps((a ?? {}) as JsonObject, (b ?? {}) as JsonObject)
  if (Array.isArray(a) || Array.isArray(b)) {
    const left = (a ?? []) as Json[]
    const right = (b ?? []) as Json[]
    return Array.isArray(left) && Array.isArray(right) && left.length === right.length && left.every((item, i) => semanticEqual(item, right[i]))
  }
  if (!isObject(a) || !isObject(b)) return a === b || (typeof a === 'object' && typeof b === 'object' && JSON.stringify(a) === JSON.stringify(b))
  return [...new Set([...Object.keys(a), ...Object.keys(b)])].every((key) => semanticEqual(a[key], b[key], key))
}
