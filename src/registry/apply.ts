/**
 * Server-side apply: an update of what is there, else a creation.
 * upstream: apiserver/pkg/endpoints/handlers/patch.go: applyPatcher
 */
import { applyPatch } from '../api/managed-fields/apply.ts'
import { coerceMetadata } from '../api/metadata-coerce.ts'
import { isObject, type Json, type JsonObject, type KubeObject } from '../api/object.ts'
import { conflict, rawError, StatusError } from '../api/status.ts'
import { createOwned } from './create.ts'
import { endpointOf } from './ownership.ts'
import { parseUintError } from './resource-version.ts'
import type { ResourceStore } from './resource-store.ts'
import { update, type UpdateOptions } from './update.ts'
import { checkName, settleDecoded, settleNamespace, type WriteResult } from './write.ts'

export interface ApplyOptions extends Omit<UpdateOptions, 'kind'> {
  readonly force: boolean
}

/** An applied configuration: decoded when it is needed first, since a missing object is found before a bad body; `check` refuses or warns of what was found in it. */
export interface Configuration {
  decode(): JsonObject
  check(): void
}

const RACES = 5

/** Applies a configuration. Throws 400, 404 (a subresource of what is not there), 409 for conflicts, 422, 500 for what does not fit the schema. */
export async function apply(store: ResourceStore, configuration: Configuration, options: ApplyOptions): Promise<WriteResult> {
  let unread: JsonObject | undefined
  const applied = (live?: KubeObject, hub?: KubeObject): KubeObject => {
    const made = applyTo(store, configuration, live, hub, options)
    unread = made.unread
    return made.object
  }
  const whole = { ...options, unread: () => unread }
  for (let attempt = 1; ; attempt++) {
    try {
      return await update(store, applied, { ...whole, kind: 'apply' })
    } catch (error) {
      if (options.subresource !== '' || !isMissing(store, error, options.name)) throw error
    }
    try {
      return await createOwned(store, newObject(settleDecoded(store, applied()), options), whole)
    } catch (error) {
      // Somebody else has created it meanwhile.
      if (!(error instanceof StatusError) || error.reason !== 'AlreadyExists' || attempt === RACES) throw error
    }
  }
}

function isMissing(store: ResourceStore, error: unknown, name: string): boolean {
  return error instanceof StatusError && error.reason === 'NotFound' && error.status.details?.name === name && error.status.details.kind === store.resource.resource
}

interface AppliedObject {
  readonly object: KubeObject
  readonly unread: JsonObject | undefined
}

function applyTo(store: ResourceStore, configuration: Configuration, live: KubeObject | undefined, hub: KubeObject | undefined, options: ApplyOptions): AppliedObject {
  const { manager, force, name, namespace } = options
  const merged = applyPatch({ ...endpointOf(store, options, hub), live, config: configuration.decode(), manager, force, now: store.clock.now() })
  configuration.check()
  // A merge may leave no metadata, or empty members that no ObjectMeta has.
  const { object } = coerceMetadata(merged, { lenient: true })
  if (live === undefined) checkNew(store, object, name)
  const settled = settleNamespace(object, namespace)
  checkName(settled, name)
  return { object: settled, unread: unreadMetadata(merged.metadata, object.metadata, live === undefined) }
}

// What is set whatever was sent, and on create.
const SET = new Set(['uid', 'resourceVersion', 'generation', 'creationTimestamp', 'managedFields', 'selfLink'])
const SET_ON_CREATE = new Set(['deletionTimestamp', 'deletionGracePeriodSeconds'])

// Nulls and what is empty: no reader sees it, but it is stored until the next write. Nothing when there is none.
function unreadMetadata(merged: Json | undefined, read: KubeObject['metadata'], create: boolean): JsonObject | undefined {
  if (!isObject(merged)) return undefined
  const unread = Object.entries(merged).filter(([name]) => !Object.hasOwn(read, name) && !SET.has(name) && !(create && SET_ON_CREATE.has(name)))
  return unread.length === 0 ? undefined : Object.fromEntries(unread)
}

// What an object that is created by apply may not say: which object it is a change of. Of a resourceVersion only the form is looked at.
function checkNew(store: ResourceStore, object: KubeObject, name: string): void {
  const { uid } = object.metadata
  const { resourceVersion = '' } = object.metadata
  const error = resourceVersion === '' ? undefined : parseUintError(resourceVersion)
  if (uid) throw conflict(store.resource, name, `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`)
  if (error) throw rawError(error)
}

// A dry run answers with the resourceVersion that was sent.
function newObject(object: KubeObject, { dryRun }: ApplyOptions): KubeObject {
  if (dryRun) return object
  const { resourceVersion: _checked, ...metadata } = object.metadata
  return { ...object, metadata }
}
