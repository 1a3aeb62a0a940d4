/**
 * PUT and PATCH, of the object and of its status: one compare-and-swap loop. The first round reads the cache; whatever fails there
 * is tried again on the store's latest state, so a stale cache costs a round and never shows.
 * upstream: registry/generic/registry/store.go: Update; storage/etcd3/store.go: GuaranteedUpdate
 */
import { checkStatusUpdate, checkUpdate } from '../api/check.ts'
import { ignoreTimestamps } from '../api/managed-fields/timestamps.ts'
import { trackUpdate } from '../api/managed-fields/update.ts'
import { dedupOwnerReferences, endsDeletion, finalizerWarnings, prepareForStatusUpdate, prepareMetadataForUpdate } from '../api/metadata.ts'
import { parseApiVersion, type KubeObject } from '../api/object.ts'
import { conflict, fieldError, invalid, notFound, OPTIMISTIC_LOCK, rawError } from '../api/status.ts'
import { admit, validateAdmission } from './admission.ts'
import { commitObject } from './commit-object.ts'
import { currentEntry, latestEntry, toLive, type LiveEntry } from './live-entry.ts'
import { endpointOf } from './ownership.ts'
import { parseUintError } from './resource-version.ts'
import { relativeKey, requestVersion, type ResourceStore } from './resource-store.ts'
import { encodeReady, hasStatusSubresource, preconditionFailed, settleDecoded, unreadOf, unstored, type WriteOptions, type WriteResult } from './write.ts'

/** The live object as the request version shows it, resourceVersion attached, and in hub form → the object to store, pruned and defaulted. */
export type Transform = (live: KubeObject, hub: KubeObject) => KubeObject

export interface UpdateOptions extends WriteOptions {
  readonly name: string
  /** Some checks and texts differ; an apply has settled the ownership of fields itself, and so has every write of a Scale. */
  readonly kind: 'put' | 'patch' | 'apply'
}

/** Updates an object. Throws 404, 409, 422 and what `transform` throws. */
export async function update(store: ResourceStore, transform: Transform, options: UpdateOptions): Promise<WriteResult> {
  const key = relativeKey(store.definition, options.namespace, options.name)
  let live: LiveEntry | undefined = currentEntry(store, key)
  let stale = true
  for (;;) {
    const warnings: string[] = []
    try {
      if (!live) throw notFound(store.resource, options.name)
      const outcome = await attempt(store, live, transform, { ...options, warn: (text) => warnings.push(text) })
      if (outcome.kind === 'unchanged' && stale) {
        // Nothing to write, if the cache is right.
        const latest = await latestEntry(store, key)
        if (latest?.revision !== live.revision) {
          live = latest
          stale = false
          continue
        }
      }
      if (outcome.kind !== 'lost') {
        for (const text of warnings) options.warn(text)
        return outcome.result
      }
      live = outcome.live
      stale = false
    } catch (error) {
      const latest = stale ? await latestEntry(store, key) : live
      if (!stale || latest?.revision === live?.revision) {
        for (const text of warnings) options.warn(text)
        throw error
      }
      live = latest
      stale = false
    }
  }
}

type Attempt =
  | { readonly kind: 'done' | 'unchanged'; readonly result: WriteResult }
  | { readonly kind: 'lost'; readonly live: LiveEntry | undefined }

async function attempt(store: ResourceStore, live: LiveEntry, transform: Transform, options: UpdateOptions): Promise<Attempt> {
  const old = attachRevision(store.codec.view(live.hub, options.version), live.revision)
  const sent = settleDecoded(store, transform(old, live.hub))
  if (options.kind === 'put') checkUid(store, sent.metadata.uid, old, options)
  const deduped = dedupOwnerReferences(sent, 'admission')
  if (deduped.warning) options.warn(deduped.warning)
  const owned =
    options.kind === 'apply' || options.subresource === 'scale'
      ? deduped.object
      : trackUpdate({ ...endpointOf(store, options, live.hub), live: old, next: deduped.object, manager: options.manager, now: store.clock.now() })
  const request = admissionRequest(store, old, options)
  const admitted = await admit(store.admission, { ...request, object: owned })
  checkRevision(store, admitted, live, options)
  const prepared = prepare(store, admitted, old, options)
  const object = options.unread?.() === undefined ? ignoreTimestamps(prepared, old) : prepared
  await validateAdmission(store.admission, { ...request, object })
  return await storeUpdated(store, live, old, object, options)
}

function admissionRequest(store: ResourceStore, old: KubeObject, options: UpdateOptions) {
  const { version, namespace, subresource, name, dryRun } = options
  return { operation: 'UPDATE' as const, definition: store.definition, version, subresource, namespace, name, old, dryRun }
}

/** The object with a resourceVersion. */
export function attachRevision(object: KubeObject, revision: number): KubeObject {
  return { ...object, metadata: { ...object.metadata, resourceVersion: String(revision) } }
}

/** A PUT is of the object whose uid it names. A patch is caught by the metadata validation instead. upstream: rest.DefaultUpdatedObjectInfo with its UID precondition */
export function checkUid(store: ResourceStore, uid: string | undefined, old: KubeObject, options: UpdateOptions): void {
  if (!uid || uid === old.metadata.uid) return
  throw preconditionFailed(store, options.name, `UID in precondition: ${uid}, UID in object meta: ${old.metadata.uid}`, options)
}

function checkRevision(store: ResourceStore, object: KubeObject, live: LiveEntry, options: UpdateOptions): void {
  const sent = object.metadata.resourceVersion ?? ''
  const error = sent === '' ? undefined : parseUintError(sent)
  if (error) throw rawError(error)
  if (sent === '' || BigInt(sent) === 0n) {
    if (store.strategy.allowUnconditionalUpdate) return
    throw invalid({ group: store.definition.group, kind: store.definition.names.plural }, options.name,
      [fieldError('FieldValueInvalid', 'metadata.resourceVersion', 0, 'must be specified for an update')])
  }
  if (BigInt(sent) !== BigInt(live.revision)) throw conflict(store.resource, options.name, OPTIMISTIC_LOCK)
}

// What the subresource may not touch, system fields, generation and the strategy's part; then validation.
function prepare(store: ResourceStore, admitted: KubeObject, old: KubeObject, options: UpdateOptions): KubeObject {
  const { definition, strategy, clock } = store
  const version = requestVersion(store, options.version)
  const context = { version: options.version, subresource: options.subresource, now: clock.now() }
  const ofStatus = options.subresource === 'status'
  let object = ofStatus
    ? prepareForStatusUpdate(admitted, old)
    : prepareMetadataForUpdate(admitted, old, { statusSubresource: hasStatusSubresource(store, options.version) })
  if (strategy.prepareForUpdate) object = strategy.prepareForUpdate(object, old, context)
  const strategyErrors = strategy.validate?.(object, old, context) ?? []
  const { group, names, scope } = definition
  const check = ofStatus ? checkStatusUpdate : checkUpdate
  const { errors, warnings } = check(object, old, version, store.rules.get(version.name), { group, kind: names.kind, namespaced: scope === 'Namespaced', strategyErrors })
  for (const warning of warnings) options.warn(warning)
  if (errors.length > 0) throw invalid({ group: parseApiVersion(object.apiVersion).group, kind: object.kind }, object.metadata.name ?? '', errors)
  if (!ofStatus) for (const warning of finalizerWarnings(object, old)) options.warn(warning)
  return object
}

async function storeUpdated(store: ResourceStore, live: LiveEntry, old: KubeObject, object: KubeObject, options: UpdateOptions): Promise<Attempt> {
  const hub = store.codec.lift(object, options.version, live.hub)
  if (options.dryRun) return { kind: 'done', result: unstored(hub, store, options.version, live.revision) }
  if (endsDeletion(object, live.hub) && !store.strategy.holdDeletion?.(hub)) {
    const outcome = await commitObject(store, { key: live.key, expected: live.revision })
    if (outcome.kind === 'lost') return lost(store, live.key, outcome.live)
    return { kind: 'done', result: { ready: encodeReady(object), revision: live.revision } }
  }
  const outcome = await commitObject(store, {
    key: live.key, expected: live.revision, hub, current: live.value, unread: unreadOf(store, options), mayLoseManagedFields: options.kind !== 'apply',
    before: () => store.codec.lift(old, options.version, live.hub),
  })
  if (outcome.kind === 'lost') return lost(store, live.key, outcome.live)
  const result = { ready: store.codec.encode(live.key, outcome.value, options.version), revision: outcome.revision }
  return { kind: outcome.kind === 'unchanged' ? 'unchanged' : 'done', result }
}

function lost(store: ResourceStore, key: string, live: Parameters<typeof toLive>[2]): Attempt {
  return { kind: 'lost', live: toLive(store, key, live) }
}
