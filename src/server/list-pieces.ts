/**
 * Lists as pieces of ready bytes: the objects themselves, their metadata alone, or the rows of a Table. Nothing but a row's cells needs
 * the parsed object.
 */
import { encodeInOrder, parseStored, revisionMember } from '../api/codec.ts'
import { formatApiVersion, type KubeObject } from '../api/object.ts'
import { columnDefinitions, tableRow } from '../api/table.ts'
import type { Page } from '../registry/read.ts'
import type { ReadyBytes } from '../../storage/watch-cache.ts'
import type { RequestContext } from './context.ts'
import type { Negotiated } from './negotiate.ts'
import { columnsOf, includeObject, metaVersion, pageMetadata } from './transform.ts'

/** One item: `lead`, the bytes from `start` to `end` with `member` put in at `place`, `tail`. */
export interface Piece {
  readonly lead: string
  readonly bytes: Uint8Array
  readonly start: number
  readonly place: number
  readonly end: number
  /** The resourceVersion as a member of the metadata, its comma included; latin1. */
  readonly member: string
  readonly tail: string
}

/** A list: what stands before and after its items, and the items. */
export interface PieceList {
  readonly open: string
  readonly pieces: Iterable<Piece>
  readonly close: string
}

/** The list as the client asked for it; undefined where it cannot be made of pieces. `ready` are the entries' bytes in the request version. */
export function listPieces(context: RequestContext, negotiated: Negotiated, page: Page, ready: readonly ReadyBytes[]): PieceList | undefined {
  if (negotiated.mediaType !== 'application/json' || negotiated.pretty) return undefined
  if (negotiated.as === undefined) return objects(context, page, ready)
  const lead = metadataLead(context)
  if (!ready.every(({ bytes }) => startsWith(bytes, lead))) return undefined
  if (negotiated.as === 'PartialObjectMetadataList') return page.entries.length > 0 ? metadataOnly(negotiated, page, ready, lead.length) : undefined
  return negotiated.as === 'Table' ? rows(context, negotiated, page, ready, lead.length) : undefined
}

function objects({ store, version }: RequestContext, page: Page, ready: readonly ReadyBytes[]): PieceList {
  const { group, names } = store.definition
  // Keys in byte order, as upstream writes a list of maps.
  const { resourceVersion, ...more } = pageMetadata(page)
  const metadata = { continue: page.continue, ...more, resourceVersion }
  return {
    open: `{"apiVersion":${JSON.stringify(formatApiVersion(group, version.name))},"items":[`,
    pieces: ready.map((r, i) => piece('', r, 0, r.bytes.length, revisionOf(page, i), '')),
    close: `],"kind":${JSON.stringify(names.listKind)},"metadata":${JSON.stringify(metadata)}}`,
  }
}

function piece(lead: string, { bytes, place }: ReadyBytes, start: number, end: number, revision: number, tail: string): Piece {
  return { lead, bytes, start, place, end, member: revisionMember(bytes, place, revision), tail }
}

function revisionOf(page: Page, index: number): number {
  return page.entries[index]?.revision ?? 0
}

// What an object's bytes begin with up to its metadata, unless it has members whose names sort before that.
function metadataLead({ store, version }: RequestContext): Buffer {
  const { group, names } = store.definition
  return Buffer.from(`{"apiVersion":${JSON.stringify(formatApiVersion(group, version.name))},"kind":${JSON.stringify(names.kind)},"metadata":`)
}

function startsWith(bytes: Uint8Array, lead: Buffer): boolean {
  return lead.equals(bytes.subarray(0, lead.length))
}

const BRACE_CLOSE = 0x7d

// After the resourceVersion's place comes the uid at most, which has no brace in it.
function metadataEnd({ bytes, place }: ReadyBytes): number {
  return bytes.indexOf(BRACE_CLOSE, place) + 1
}

function metadataOnly(negotiated: Negotiated, page: Page, ready: readonly ReadyBytes[], start: number): PieceList {
  const lead = partialLead(negotiated)
  return {
    open: `{"kind":"PartialObjectMetadataList","apiVersion":"${metaVersion(negotiated)}","metadata":${JSON.stringify(pageMetadata(page))},"items":[`,
    pieces: ready.map((r, i) => piece(lead, r, start, metadataEnd(r), revisionOf(page, i), '}')),
    close: ']}',
  }
}

function partialLead(negotiated: Negotiated): string {
  return `{"kind":"PartialObjectMetadata","apiVersion":"${metaVersion(negotiated)}","metadata":`
}

const NO_BYTES: ReadyBytes = { bytes: new Uint8Array(), place: 0 }

function rows(context: RequestContext, negotiated: Negotiated, page: Page, ready: readonly ReadyBytes[], start: number): PieceList {
  const columns = columnsOf(context)
  const include = includeObject(context.info.query)
  const partial = partialLead(negotiated)
  function* make(): Generator<Piece> {
    for (const [i, r] of ready.entries()) {
      const cells = encodeInOrder(tableRow(parseStored(r.bytes) as KubeObject, columns, context.now))
      const lead = `{"cells":${cells},"object":`
      if (include === 'None') yield { lead, ...NO_BYTES, start: 0, end: 0, member: '', tail: 'null}' }
      else if (include === 'Object') yield piece(lead, r, 0, r.bytes.length, revisionOf(page, i), '}')
      else yield piece(lead + partial, r, start, metadataEnd(r), revisionOf(page, i), '}}')
    }
  }
  const definitions = encodeInOrder(columnDefinitions(columns) as unknown as Parameters<typeof encodeInOrder>[0])
  return {
    open: `{"kind":"Table","apiVersion":"${metaVersion(negotiated)}","metadata":${JSON.stringify(pageMetadata(page))},"columnDefinitions":${definitions},"rows":[`,
    pieces: make(),
    close: ']}',
  }
}
