/** Event, as much of core/v1 as standalone mode needs. upstream: pkg/registry/core/event/strategy.go, pkg/printers/internalversion */
import { noConversion } from '../../api/lens-conversion.ts'
import { getKey, isObject, type JsonObject, type KubeObject } from '../../api/object.ts'
import { decodeKubeProtobuf, type Message } from '../../api/protobuf.ts'
import { OBJECT_META } from '../../api/protobuf-meta.ts'
import type { ComputedColumn, ResourceDefinition, Strategy } from '../../api/resource.ts'
import type { Schema } from '../../api/schema.ts'
import { fieldError } from '../../api/status.ts'
import { since } from './columns.ts'
import { withoutGeneration } from './generation.ts'

const text: Schema = { type: 'string' }
const time: Schema = { type: 'string', format: 'date-time', nullable: true }
const reference: Schema = {
  type: 'object',
  properties: { kind: text, namespace: text, name: text, uid: text, apiVersion: text, resourceVersion: text, fieldPath: text },
}

const definition: ResourceDefinition = {
  group: '',
  scope: 'Namespaced',
  names: { plural: 'events', singular: 'event', kind: 'Event', listKind: 'EventList', shortNames: ['ev'] },
  versions: [
    {
      name: 'v1',
      served: true,
      storage: true,
      schema: {
        type: 'object',
        description: 'Event is a report of something that happened to an object.',
        required: ['involvedObject'],
        properties: {
          involvedObject: { ...reference, description: 'The object that this event is about.' },
          reason: { ...text, description: 'A short, machine understandable reason.' },
          message: { ...text, description: 'A human-readable description.' },
          source: { type: 'object', properties: { component: text, host: text } },
          firstTimestamp: time,
          lastTimestamp: time,
          count: { type: 'integer', format: 'int32' },
          type: { ...text, description: 'Normal or Warning.' },
          eventTime: time,
          series: { type: 'object', properties: { count: { type: 'integer', format: 'int32' }, lastObservedTime: time } },
          action: text,
          related: reference,
          reportingComponent: text,
          reportingInstance: text,
        },
      },
    },
  ],
}

const REFERENCE: Message = {
  1: { name: 'kind', type: 'string' },
  2: { name: 'namespace', type: 'string' },
  3: { name: 'name', type: 'string' },
  4: { name: 'uid', type: 'string' },
  5: { name: 'apiVersion', type: 'string' },
  6: { name: 'resourceVersion', type: 'string' },
  7: { name: 'fieldPath', type: 'string' },
}

const MESSAGE: Message = {
  1: { name: 'metadata', type: OBJECT_META },
  2: { name: 'involvedObject', type: REFERENCE },
  3: { name: 'reason', type: 'string' },
  4: { name: 'message', type: 'string' },
  5: { name: 'source', type: { 1: { name: 'component', type: 'string' }, 2: { name: 'host', type: 'string' } } },
  6: { name: 'firstTimestamp', type: 'time' },
  7: { name: 'lastTimestamp', type: 'time' },
  8: { name: 'count', type: 'int' },
  9: { name: 'type', type: 'string' },
  10: { name: 'eventTime', type: 'microTime' },
  11: { name: 'series', type: { 1: { name: 'count', type: 'int' }, 2: { name: 'lastObservedTime', type: 'microTime' } } },
  12: { name: 'action', type: 'string' },
  13: { name: 'related', type: REFERENCE },
  14: { name: 'reportingComponent', type: 'string' },
  15: { name: 'reportingInstance', type: 'string' },
}

const member = (object: JsonObject, name: string): JsonObject => {
  const value = getKey(object, name)
  return isObject(value) ? value : {}
}
const string = (object: JsonObject, name: string): string => {
  const value = getKey(object, name)
  return typeof value === 'string' ? value : ''
}

function lastSeen(event: KubeObject): string | undefined {
  return string(member(event, 'series'), 'lastObservedTime') || string(event, 'lastTimestamp') || string(event, 'eventTime') || event.metadata.creationTimestamp
}

const sourceOf = (event: KubeObject): string => {
  const source = member(event, 'source')
  return [string(source, 'component') || string(event, 'reportingComponent'), string(source, 'host')].filter(Boolean).join(', ')
}

const COLUMNS: readonly ComputedColumn[] = [
  { name: 'Last Seen', type: 'string', description: 'When it was last seen', cell: (event, now) => since(lastSeen(event), now) },
  { name: 'Type', type: 'string', description: 'Normal or Warning', cell: (event) => string(event, 'type') },
  { name: 'Reason', type: 'string', description: 'The reason', cell: (event) => string(event, 'reason') },
  {
    name: 'Object', type: 'string', description: 'The object it is about',
    cell: (event) => `${string(member(event, 'involvedObject'), 'kind').toLowerCase()}/${string(member(event, 'involvedObject'), 'name')}`,
  },
  { name: 'Subobject', type: 'string', priority: 1, description: 'The part of the object', cell: (event) => string(member(event, 'involvedObject'), 'fieldPath') },
  { name: 'Source', type: 'string', priority: 1, description: 'Who reported it', cell: sourceOf },
  { name: 'Message', type: 'string', description: 'What happened', cell: (event) => string(event, 'message').trim() },
  { name: 'First Seen', type: 'string', priority: 1, description: 'When it was first seen', cell: (event, now) => since(string(event, 'firstTimestamp') || event.metadata.creationTimestamp, now) },
  { name: 'Count', type: 'string', priority: 1, description: 'How often', cell: (event) => Number(getKey(event, 'count') ?? 1) },
  { name: 'Name', type: 'string', format: 'name', priority: 1, description: 'Name of the object', cell: (event) => event.metadata.name ?? '' },
]

const involved = (name: string) => (event: KubeObject) => string(member(event, 'involvedObject'), name)

const strategy: Strategy = {
  allowUnconditionalUpdate: true,
  columns: COLUMNS,
  strategicMergeKeys: { 'metadata.ownerReferences': 'uid' },
  decodeProtobuf: (bytes) => decodeKubeProtobuf(bytes, MESSAGE),
  prepareForCreate: withoutGeneration,
  prepareForUpdate: withoutGeneration,
  selectableFields: {
    'involvedObject.kind': involved('kind'),
    'involvedObject.namespace': involved('namespace'),
    'involvedObject.name': involved('name'),
    'involvedObject.uid': involved('uid'),
    'involvedObject.apiVersion': involved('apiVersion'),
    'involvedObject.resourceVersion': involved('resourceVersion'),
    'involvedObject.fieldPath': involved('fieldPath'),
    reason: (event) => string(event, 'reason'),
    reportingComponent: (event) => string(event, 'reportingComponent'),
    source: (event) => string(member(event, 'source'), 'component') || string(event, 'reportingComponent'),
    type: (event) => string(event, 'type'),
  },
  validate(event) {
    const namespace = involved('namespace')(event) || 'default'
    if (namespace === event.metadata.namespace) return []
    return [fieldError('FieldValueInvalid', 'involvedObject.namespace', involved('namespace')(event), 'does not match event.namespace')]
  },
  // An update renews an event's hour.
  expire: { seconds: 3600, since: lastSeen },
}

/** The Event resource. */
export const events = { definition, strategy, conversion: noConversion(definition) }
