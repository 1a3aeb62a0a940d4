/** POST: steps 6 to 14 of the road, in upstream's order. upstream: registry/generic/registry/store.go: create; registry/rest/create.go: BeforeCreate */
import { checkCreate } from '../api/check.ts'
import { trackUpdate } from '../api/managed-fields/update.ts'
import { dedupOwnerReferences, dropStatus, finalizerWarnings, generateName, stampForCreate, wipeForCreate } from '../api/metadata.ts'
import { parseApiVersion, isObject, type KubeObject } from '../api/object.ts'
import { alreadyExists, invalid, rawError } from '../api/status.ts'
import { admit, validateAdmission } from './admission.ts'
import { commitObject, type WriteOutcome } from './commit-object.ts'
import { endpointOf } from './ownership.ts'
import { parseUintError } from './resource-version.ts'
import { relativeKey, requestVersion, type ResourceStore } from './resource-store.ts'
import { hasStatusSubresource, settleDecoded, settleNamespace, unreadOf, unstored, type WriteOptions, type WriteResult } from './write.ts'

const NAME_ATTEMPTS = 8

/** Creates an object. `body` is decoded, pruned and defaulted in the request version. */
export async function create(store: ResourceStore, body: KubeObject, options: WriteOptions): Promise<WriteResult> {
  const wiped = settleNamespace({ ...body, metadata: wipeForCreate(body.metadata) }, options.namespace)
  const deduped = dedupOwnerReferences(wiped)
  if (deduped.warning) options.warn(deduped.warning)
  const next = settleDecoded(store, deduped.object)
  const owned = trackUpdate({ ...endpointOf(store, options, undefined), live: undefined, next, manager: options.manager, now: store.clock.now() })
  return await createOwned(store, owned, options)
}

/** Creates an object whose ownership of fields is settled. */
export async function createOwned(store: ResourceStore, owned: KubeObject, options: WriteOptions): Promise<WriteResult> {
  const admitted = await admit(store.admission, { ...admissionRequest(store, owned, options), object: owned })
  const base = admitted.metadata.generateName ?? ''
  const generated = !admitted.metadata.name && base !== ''
  for (let attempt = 1; ; attempt++) {
    const named = generated ? withName(admitted, generateName(base, () => store.clock.random())) : admitted
    const object = prepare(store, named, options)
    const outcome = await storeNew(store, object, options)
    if (outcome.kind === 'result') return outcome.result
    if (!generated || attempt === NAME_ATTEMPTS) throw exists(store, object, outcome.terminating)
  }
}

function admissionRequest(store: ResourceStore, object: KubeObject, options: WriteOptions) {
  const { version, namespace, subresource, dryRun } = options
  return { operation: 'CREATE' as const, definition: store.definition, version, subresource, namespace, name: object.metadata.name ?? '', dryRun }
}

function withName(object: KubeObject, name: string): KubeObject {
  return { ...object, metadata: { ...object.metadata, name } }
}

// System fields, status and the strategy's part; then validation.
function prepare(store: ResourceStore, named: KubeObject, options: WriteOptions): KubeObject {
  const { definition, strategy, clock } = store
  const version = requestVersion(store, options.version)
  const context = { version: options.version, subresource: options.subresource, now: clock.now() }
  let object = stampForCreate(named, { now: clock.now(), uid: clock.uuid(), random: () => clock.random() })
  if (hasStatusSubresource(store, options.version)) object = dropStatus(object)
  if (strategy.prepareForCreate) object = strategy.prepareForCreate(object, context)
  const strategyErrors = strategy.validate?.(object, undefined, context) ?? []
  const { group, names, scope } = definition
  const { errors, warnings } = checkCreate(object, version, store.rules.get(version.name), { group, kind: names.kind, namespaced: scope === 'Namespaced', ...(strategy.nameRule && { nameRule: strategy.nameRule }), strategyErrors })
  for (const warning of warnings) options.warn(warning)
  if (errors.length > 0) throw invalid({ group: parseApiVersion(object.apiVersion).group, kind: object.kind }, object.metadata.name ?? '', errors)
  for (const warning of finalizerWarnings(object, undefined)) options.warn(warning)
  return object
}

type Stored = { readonly kind: 'result'; readonly result: WriteResult } | { readonly kind: 'exists'; readonly terminating: boolean }

async function storeNew(store: ResourceStore, object: KubeObject, options: WriteOptions): Promise<Stored> {
  await validateAdmission(store.admission, { ...admissionRequest(store, object, options), object })
  const sent = object.metadata.resourceVersion ?? ''
  if (!options.dryRun && sent !== '' && parseUintError(sent) === undefined && Number(sent) !== 0) throw rawError('resourceVersion should not be set on objects to be created')
  const key = relativeKey(store.definition, options.namespace, object.metadata.name ?? '')
  const hub = store.codec.lift(object, options.version)
  if (options.dryRun) {
    const live = await store.backend.get(store.prefix + key)
    return live ? { kind: 'exists', terminating: isTerminating(store, live.value) } : { kind: 'result', result: { ...unstored(hub, store, options.version, sent || undefined), created: true } }
  }
  const outcome: WriteOutcome = await commitObject(store, { key, expected: 0, hub, unread: unreadOf(store, options), mayLoseManagedFields: options.unread === undefined })
  if (outcome.kind === 'lost') return { kind: 'exists', terminating: outcome.live !== undefined && isTerminating(store, outcome.live.value) }
  const ready = store.codec.encode(key, outcome.value, options.version)
  return { kind: 'result', result: { ready, revision: outcome.revision, created: true } }
}

function isTerminating(store: ResourceStore, value: Uint8Array): boolean {
  try {
    const object = store.codec.open(value)
    return isObject(object.metadata) && object.metadata.deletionTimestamp !== undefined
  } catch {
    return false
  }
}

function exists(store: ResourceStore, object: KubeObject, terminating: boolean) {
  const name = object.metadata.name ?? ''
  if (object.metadata.generateName) {
    return alreadyExists(store.resource, name, { suffix: ', the server was not able to generate a unique name for the object', retryAfterSeconds: 1 })
  }
  return alreadyExists(store.resource, name, terminating ? { prefix: 'object is being deleted: ' } : {})
}
