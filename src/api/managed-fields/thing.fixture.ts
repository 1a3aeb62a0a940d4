/** A kind with every type of node, in two versions that see some nodes differently, for tests. */
import type { Json, JsonObject, KubeObject } from '../object.ts'
import type { ResourceDefinition } from '../resource.ts'
import type { Schema } from '../schema.ts'
import { applyPatch, type ApplyRequest } from './apply.ts'
import { trackUpdate, type TrackedUpdate } from './update.ts'

const text: Schema = { type: 'string' }
const integer: Schema = { type: 'integer' }
const listMap = (keys: string[], properties: Record<string, Schema>): Schema => ({
  type: 'array',
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': keys,
  items: { type: 'object', required: [keys[0] as string], properties },
})
const setOf = (items: Schema): Schema => ({ type: 'array', 'x-kubernetes-list-type': 'set', items })
const mapOf = (additionalProperties: Schema): Schema => ({ type: 'object', additionalProperties })

const fields = {
  s: text,
  t: { type: 'string', format: 'date-time' },
  n: integer,
  d: { type: 'number', default: 3 },
  b: { type: 'boolean' },
  blob: { type: 'string', format: 'byte' },
  nul: { type: 'string', nullable: true },
  ios: { 'x-kubernetes-int-or-string': true },
  set: setOf(text),
  nset: setOf({ type: 'number' }),
  atomicList: { type: 'array', 'x-kubernetes-list-type': 'atomic', items: { type: 'object', properties: { a: integer } } },
  plainList: { type: 'array', items: text },
  ports: listMap(['port', 'protocol'], { port: integer, protocol: { type: 'string', default: 'TCP' }, name: text, tags: mapOf(text) }),
  items: listMap(['name'], { name: text, v: integer, sub: listMap(['k'], { k: text, x: text }) }),
  labels: mapOf(text),
  opts: mapOf({ type: 'object', properties: { v: integer, w: text } }),
  atom: { type: 'object', 'x-kubernetes-map-type': 'atomic', properties: { a: text, b: text } },
  free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true, properties: { known: integer } },
  any: { 'x-kubernetes-preserve-unknown-fields': true },
  bare: { type: 'object' },
  tmpl: { type: 'object', 'x-kubernetes-embedded-resource': true, 'x-kubernetes-preserve-unknown-fields': true },
  nested: { type: 'object', default: {}, properties: { level: { type: 'integer', default: 3 }, inner: { type: 'object', properties: { deep: text } } } },
} satisfies Record<string, Schema>

const schemaOf = (spec: Record<string, Schema>): Schema => ({
  type: 'object',
  properties: {
    spec: { type: 'object', properties: spec },
    status: { type: 'object', properties: { phase: text, conditions: listMap(['type'], { type: text, status: text }) } },
  },
})

/** `v1` and `v1beta1`; the older has a plain list for `set`, a granular `atom` and an atomic `opts`. */
export const things: ResourceDefinition = {
  group: 'example.com',
  scope: 'Namespaced',
  names: { plural: 'things', singular: 'thing', kind: 'Thing', listKind: 'ThingList' },
  versions: [
    { name: 'v1', served: true, storage: true, subresources: { status: {} }, schema: schemaOf(fields) },
    {
      name: 'v1beta1',
      served: true,
      storage: false,
      subresources: { status: {} },
      schema: schemaOf({
        ...fields,
        set: { type: 'array', items: text },
        atom: { type: 'object', properties: fields.atom.properties },
        opts: { ...fields.opts, 'x-kubernetes-map-type': 'atomic' },
      }),
    },
  ],
}

/** Conversion as with strategy None. */
export const rename = (object: KubeObject, version: string): KubeObject => ({ ...object, apiVersion: `example.com/${version}` })

/** A thing as a client writes it. */
export const thing = (spec: Json, metadata: JsonObject = {}, more: JsonObject = {}): KubeObject =>
  ({ apiVersion: 'example.com/v1', kind: 'Thing', metadata: { name: 'x', namespace: 'ns', ...metadata }, spec, ...more }) as KubeObject

const START = Date.parse('2020-01-01T00:00:00Z')

/** An object under several hands; each write comes a second after the one before. Reads are as JSON. */
export class Shared {
  object: KubeObject | undefined
  private now = START

  private get base() {
    this.now += 1000
    return { definition: things, version: 'v1', subresource: '' as const, live: this.object, now: this.now }
  }

  private keep(object: KubeObject): KubeObject {
    this.object = { ...object, metadata: { ...object.metadata, uid: 'u' } }
    return this.object
  }

  /** Create or PUT. `next` without managedFields keeps those that are there. */
  update(manager: string, next: KubeObject, more: Partial<TrackedUpdate> = {}): KubeObject {
    const uid = this.object ? { uid: 'u' } : {}
    return this.keep(trackUpdate({ ...this.base, manager, ...more, next: { ...next, metadata: { ...next.metadata, ...uid } } }))
  }

  apply(manager: string, config: JsonObject, more: Partial<ApplyRequest> = {}): KubeObject {
    return this.keep(applyPatch({ ...this.base, manager, force: false, ...more, config }))
  }

  /** One line an entry: manager, operation, version or subresource where they are not the usual, seconds, and what is owned. */
  get owners(): string[] {
    return (this.object?.metadata.managedFields ?? []).map((entry) => {
      const { manager, operation, apiVersion, subresource, time, fieldsV1 } = entry as Record<string, string> & { fieldsV1: JsonObject }
      const version = apiVersion === 'example.com/v1' ? '' : ` ${apiVersion}`
      const second = time === undefined ? 'no time' : `at ${(Date.parse(time) - START) / 1000}`
      return `${manager} ${operation}${version}${subresource ? ` ${subresource}` : ''} ${second}: ${JSON.stringify(fieldsV1).replaceAll('"', "'")}`
    })
  }
}
