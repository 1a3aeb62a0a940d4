/** URIs as rules see them. upstream: apiserver/pkg/cel/library/urls.go */
import { celError } from '@bufbuild/cel'
import { declare, member, overload, type Declaration } from './cel-function.ts'
import { ITEM, meter, PARTS } from './cel-meter.ts'
import { LiteralMap } from './cel-map.ts'
import { opaqueType } from './cel-opaque.ts'
import { JoinedList } from './cel-values.ts'
import { parseUri, requestUriFault, type Uri } from './uri.ts'
import type { Value } from './cel-function.ts'

/** The type of URIs. */
export const uriType = opaqueType<Uri>('kubernetes.URL', (a, b) => a.text === b.text)
const URI = uriType.desc.typeName

/** What a character of a URI costs, which is looked at several times. */
const URI_CHARACTER = 2

function uri(text: string): unknown {
  meter.charge(8 * PARTS + text.length * URI_CHARACTER)
  const parsed = parseUri(text)
  if (typeof parsed === 'string') throw celError(`URL parse error during conversion from string: ${parsed}`)
  return uriType.wrap(parsed)
}

function isUri(text: string): boolean {
  meter.charge(2 * PARTS + text.length * URI_CHARACTER)
  return requestUriFault(text) === undefined
}

function query({ query: parameters }: Uri): LiteralMap {
  meter.charge(parameters.size * ITEM)
  return new LiteralMap([...parameters].map(([key, values]) => [key, new JoinedList([...values]) as unknown as Value]))
}

const get = (name: string, of: (value: Uri) => unknown): Declaration => declare(name, [member([URI], (value) => of(uriType.unwrap(value)))])

/** `url`, `isURL` and their methods. */
export const uriFunctions: Declaration[] = [
  declare('isURL', [overload(['string'], isUri)]),
  declare('url', [overload(['string'], uri)]),
  get('getScheme', ({ scheme }) => scheme),
  get('getHost', ({ host }) => host),
  get('getHostname', ({ hostname }) => hostname),
  get('getPort', ({ port }) => port),
  get('getEscapedPath', ({ path }) => path),
  get('getQuery', query),
]
