/** What was written to a server, in the order of its revisions, and what a watch must therefore show. */
import assert from 'node:assert/strict'
import type { JsonObject } from '../../../src/api/object.ts'

/** The namespaces, versions and the storage version of the kind that is written. */
export const NAMESPACES = ['h1', 'h2'] as const
export const VERSIONS = ['v1', 'v2'] as const
export const GROUP = 'history.example.com'

/** An object as tests look into it. */
export interface Thing extends JsonObject {
  readonly metadata: { readonly name: string; readonly namespace: string; readonly resourceVersion: string; readonly labels?: Record<string, string> } & JsonObject
}

/** One change of one object; without `object` it is gone, and `previous` is what was there before. */
export interface Fact {
  readonly key: string
  readonly revision: number
  readonly object: Thing | undefined
  readonly previous: Thing | undefined
}

/** What a watch is asked to show. */
export interface Filter {
  readonly version: (typeof VERSIONS)[number]
  readonly namespace: string | undefined
  readonly labels: Selector | undefined
  readonly fields: Selector | undefined
}

export interface Selector {
  readonly text: string
  matches(object: Thing): boolean
}

const label = (name: string, test: (value: string | undefined) => boolean) => ({ metadata }: Thing): boolean => test(metadata.labels?.[name])
const specOf = (object: Thing): Record<string, unknown> => (object.spec ?? {}) as Record<string, unknown>

export const LABEL_SELECTORS: readonly Selector[] = [
  { text: 'color=red', matches: label('color', (value) => value === 'red') },
  { text: 'color!=red', matches: label('color', (value) => value !== 'red') },
  { text: '!color', matches: label('color', (value) => value === undefined) },
  { text: 'tier', matches: label('tier', (value) => value !== undefined) },
  { text: 'color in (red,blue),tier=a', matches: (object) => label('color', (value) => value === 'red' || value === 'blue')(object) && label('tier', (value) => value === 'a')(object) },
  { text: 'tier notin (a)', matches: label('tier', (value) => value !== 'a') },
]

export const FIELD_SELECTORS: readonly Selector[] = [
  { text: 'spec.color=red', matches: (object) => specOf(object).color === 'red' },
  { text: 'spec.color!=red', matches: (object) => specOf(object).color !== 'red' },
  { text: 'spec.size=1', matches: (object) => specOf(object).size === 1 },
  { text: 'metadata.name=t3', matches: ({ metadata }) => metadata.name === 't3' },
  { text: 'metadata.name!=t3,spec.color=blue', matches: (object) => object.metadata.name !== 't3' && specOf(object).color === 'blue' },
]

export const keyOf = ({ metadata }: Thing): string => `${metadata.namespace}/${metadata.name}`
export const revisionOf = ({ metadata }: Thing): number => Number(metadata.resourceVersion)

function wants({ namespace, labels, fields }: Filter, object: Thing | undefined): object is Thing {
  if (object === undefined || (namespace !== undefined && object.metadata.namespace !== namespace)) return false
  return (labels?.matches(object) ?? true) && (fields?.matches(object) ?? true)
}

/** An object of the storage version as another version shows it: without the field that only the storage version has. */
export function inVersion(object: Thing, version: string): Thing {
  const { extra: _, ...spec } = specOf(object)
  const shown = { ...object, apiVersion: `${GROUP}/${version}` }
  return version === 'v2' || object.spec === undefined ? shown : { ...shown, spec: spec as JsonObject }
}

const at = (object: Thing, revision: number): Thing => ({ ...object, metadata: { ...object.metadata, resourceVersion: String(revision) } })

export interface ShownEvent {
  readonly type: string
  readonly object: Thing
}

/** The events after a revision, in order. */
export function eventsAfter(facts: readonly Fact[], revision: number, filter: Filter): (ShownEvent & { readonly revision: number })[] {
  return facts.flatMap((fact) => {
    if (fact.revision <= revision) return []
    const [did, does] = [wants(filter, fact.previous), wants(filter, fact.object)]
    const shown = (type: string, object: Thing) => [{ type, object: inVersion(object, filter.version), revision: fact.revision }]
    if (does) return shown(did ? 'MODIFIED' : 'ADDED', fact.object as Thing)
    return did ? shown('DELETED', at(fact.previous as Thing, fact.revision)) : []
  })
}

/** The objects at a revision, by key. */
export function stateAt(facts: readonly Fact[], revision: number, filter: Filter): Map<string, Thing> {
  const state = new Map<string, Thing | undefined>()
  for (const fact of facts) if (fact.revision <= revision) state.set(fact.key, fact.object)
  return new Map([...state].flatMap(([key, object]) => (wants(filter, object) ? [[key, inVersion(object, filter.version)] as const] : [])))
}

/**
 * The log, from what each writer was told (in its order; undefined: gone) and what a watch of everything has shown, which knows the revisions of deletions.
 * Fails when the two do not agree.
 */
export function makeLog(acknowledged: ReadonlyMap<string, readonly (Thing | undefined)[]>, recorded: readonly ShownEvent[]): Fact[] {
  const facts: Fact[] = []
  const current = new Map<string, Thing | undefined>()
  const left = new Map([...acknowledged].map(([key, states]) => [key, [...states]]))
  let last = 0
  for (const { type, object } of recorded) {
    const [key, revision, previous] = [keyOf(object), revisionOf(object), current.get(keyOf(object))]
    assert.ok(revision > last, `revision ${revision} after ${last}`)
    last = revision
    const told = left.get(key) ?? []
    assert.ok(told.length > 0, `${type} ${key} at ${revision}, which nobody wrote`)
    const next = told.shift()
    const expected = next === undefined ? { type: 'DELETED', object: at(previous as Thing, revision) } : { type: previous === undefined ? 'ADDED' : 'MODIFIED', object: next }
    assert.deepEqual({ type, object }, expected)
    facts.push({ key, revision, object: next, previous })
    current.set(key, next)
  }
  for (const [key, states] of left) assert.equal(states.length, 0, `writes to ${key} that no event shows`)
  return facts
}
