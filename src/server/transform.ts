/**
 * Objects and lists in the other forms that a client may ask for: Table and PartialObjectMetadata.
 * upstream: apiserver/pkg/endpoints/handlers/response.go: doTransformObject, asTable, asPartialObjectMetadata
 */
import type { KubeObject, ObjectMeta } from '../api/object.ts'
import { SCALE_COLUMNS } from '../api/scale.ts'
import { badRequest, goQuote, notAcceptableText, rawError } from '../api/status.ts'
import { columnDefinitions, compileColumns, tableRow, type Columns } from '../api/table.ts'
import type { Page } from '../registry/read.ts'
import type { ResourceStore } from '../registry/resource-store.ts'
import type { RequestContext } from './context.ts'
import type { Negotiated } from './negotiate.ts'

type Transforming = Pick<RequestContext, 'version' | 'info' | 'now'> & { readonly store: Pick<ResourceStore, 'strategy'> }

/** One object in the asked form. Throws 406 or 500 for a list form, 400 for a bad includeObject. */
export function transformObject(context: Transforming, negotiated: Negotiated, object: KubeObject): unknown {
  if (negotiated.as === 'PartialObjectMetadata') return partialMetadata(object, negotiated)
  if (negotiated.as === 'PartialObjectMetadataList') {
    if (context.info.subresource === 'scale') throw notAcceptableText('you requested PartialObjectMetadataList, but the requested object is not a list (*v1.Scale)')
    // What is unstructured has the methods of a list too, and fails only when its items are asked for.
    throw rawError('content is not a list')
  }
  const resourceVersion = object.metadata.resourceVersion
  return table(context, negotiated, [object], resourceVersion === undefined ? {} : { resourceVersion })
}

/** A list in the asked form. Throws 406 for the form of one object. */
export function transformList(context: Transforming, negotiated: Negotiated, items: readonly KubeObject[], page: Page): unknown {
  const metadata = pageMetadata(page)
  if (negotiated.as === 'PartialObjectMetadata') {
    throw notAcceptableText('you requested PartialObjectMetadata, but the requested object is a list (*unstructured.UnstructuredList)')
  }
  if (negotiated.as === 'PartialObjectMetadataList') {
    const partial = items.map((item) => partialMetadata(item, negotiated))
    return { kind: 'PartialObjectMetadataList', apiVersion: metaVersion(negotiated), metadata, items: partial.length > 0 ? partial : null }
  }
  return table(context, negotiated, items, metadata)
}

const META_KEYS = [
  'name', 'generateName', 'namespace', 'selfLink', 'uid', 'resourceVersion', 'generation', 'creationTimestamp', 'deletionTimestamp',
  'deletionGracePeriodSeconds', 'labels', 'annotations', 'ownerReferences', 'finalizers', 'managedFields',
] as const satisfies readonly (keyof ObjectMeta)[]

/** The metadata of a list in another form, keys in the order of the struct. */
export function pageMetadata(page: Page): { resourceVersion: string; continue?: string; remainingItemCount?: number } {
  return {
    resourceVersion: String(page.revision),
    ...(page.continue === '' ? {} : { continue: page.continue }),
    ...(page.remainingItemCount === undefined ? {} : { remainingItemCount: page.remainingItemCount }),
  }
}

/** The apiVersion of the form that was asked for. */
export const metaVersion = (negotiated: Negotiated): string => `meta.k8s.io/${negotiated.asVersion ?? 'v1'}`

/** The object's metadata alone, keys in the order of the struct. */
export function partialMetadata(object: { readonly metadata: ObjectMeta }, negotiated: Negotiated): unknown {
  const metadata: Record<string, unknown> = {}
  for (const key of META_KEYS) if (object.metadata[key] !== undefined) metadata[key] = object.metadata[key]
  return { kind: 'PartialObjectMetadata', apiVersion: metaVersion(negotiated), metadata }
}

/** What a Table's row holds of its object. */
export type Include = 'Metadata' | 'Object' | 'None'

/** The includeObject parameter. Throws 400. */
export function includeObject(query: URLSearchParams): Include {
  const value = query.get('includeObject') ?? ''
  if (value === '' || value === 'Metadata') return 'Metadata'
  if (value === 'Object' || value === 'None') return value
  throw badRequest(`Unable to convert to Table as requested: includeObject: Invalid value: ${goQuote(value)}: must be 'Metadata', 'Object', 'None', or empty`)
}

/** Checks the query of a request for a Table. Throws 400. upstream: optionsForTransform */
export function checkTableOptions(negotiated: Negotiated, query: URLSearchParams): void {
  if (negotiated.as === 'Table') includeObject(query)
}

function table(context: Transforming, negotiated: Negotiated, items: readonly KubeObject[], metadata: object): unknown {
  const columns = columnsOf(context)
  return {
    kind: 'Table',
    apiVersion: metaVersion(negotiated),
    metadata,
    columnDefinitions: columnDefinitions(columns),
    rows: tableRows(context, negotiated, columns, items),
  }
}

function tableRows(context: Transforming, negotiated: Negotiated, columns: Columns, items: readonly KubeObject[]): unknown[] {
  const include = includeObject(context.info.query)
  return items.map((item) => ({
    cells: tableRow(item, columns, context.now),
    object: include === 'None' ? null : include === 'Object' ? item : partialMetadata(item, negotiated),
  }))
}

const compiled = new WeakMap<Transforming['store'], Map<string, Columns>>()

const scaleColumns = compileColumns({ additionalPrinterColumns: SCALE_COLUMNS })

/** The columns of the request's version, compiled once. */
export function columnsOf({ store, version, info }: Pick<Transforming, 'store' | 'version' | 'info'>): Columns {
  if (info.subresource === 'scale') return scaleColumns
  const versions = compiled.get(store) ?? new Map<string, Columns>()
  compiled.set(store, versions)
  const columns = versions.get(version.name) ?? compileColumns(version, store.strategy.columns)
  versions.set(version.name, columns)
  return columns
}

/** One event's object in the asked form; of a watch's tables only the first has column definitions. */
export function transformEvent(context: Transforming, negotiated: Negotiated, object: KubeObject, options: { readonly first: boolean; readonly bookmark: boolean }): unknown {
  if (negotiated.as === 'PartialObjectMetadata') return partialMetadata(object, negotiated)
  const columns = columnsOf(context)
  const rows = tableRows(context, negotiated, columns, [object]) as { cells: unknown[]; object: unknown }[]
  // The mark after the initial events is on the object, so a bookmark keeps its metadata.
  if (options.bookmark) for (const row of rows) row.object ??= partialMetadata(object, negotiated)
  const { resourceVersion = '' } = object.metadata
  return {
    kind: 'Table',
    apiVersion: metaVersion(negotiated),
    metadata: { resourceVersion },
    columnDefinitions: options.first ? columnDefinitions(columns) : null,
    rows,
  }
}
