/**
 * Server-side apply: an update of what is there, else a creation.
 * upstream: apiserver/pkg/endpoints/handlers/patch.go: applyPatcher
 */
import { applyPatch } from '../api/managed-fields/apply.ts'
import { coerceMetadata } from '../api/metadata-coerce.ts'
import type { JsonObject, KubeObject } from '../api/object.ts'
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
  for (let attempt = 1; ; attempt++) {
    try {
      return await update(store, (live, hub) => applied(store, configuration, live, hub, options), { ...options, kind: 'apply' })
    } catch (error) {
      if (options.subresource !== '' || !isMissing(store, error, options.name)) throw error
    }
    try {
      return await createOwned(store, newObject(store, configuration, options), { ...options, applied: true })
    } catch (error) {
      // Somebody else has created it meanwhile.
      if (!(error instanceof StatusError) || error.reason !== 'AlreadyExists' || attempt === RACES) throw error
    }
  }
}

function isMissing(store: ResourceStore, error: unknown, name: string): boolean {
  return error instanceof StatusError && error.reason === 'NotFound' && error.status.details?.name === name && error.status.details.kind === store.resource.resource
}

function applied(store: ResourceStore, configuration: Configuration, live: KubeObject | undefined, hub: KubeObject | undefined, options: ApplyOptions): KubeObject {
  const { manager, force, name, namespace } = options
  const merged = applyPatch({ ...endpointOf(store, options, hub), live, config: configuration.decode(), manager, force, now: store.clock.now() })
  configuration.check()
  // A merge may leave no metadata, or empty members that no ObjectMeta has.
  const { object } = coerceMetadata(merged, { lenient: true })
  if (live === undefined) checkNew(store, object, name)
  const settled = settleNamespace(object, namespace)
  checkName(settled, name)
  return settled
}

// What an object that is created by apply may not say: which object it is a change of. Of a resourceVersion only the form is looked at.
function checkNew(store: ResourceStore, object: KubeObject, name: string): void {
  const { uid } = object.metadata
  const { resourceVersion = '' } = object.metadata
  const error = resourceVersion === '' ? undefined : parseUintError(resourceVersion)
  if (uid) throw conflict(store.resource, name, `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`)
  if (error) throw rawError(error)
}

function newObject(store: ResourceStore, configuration: Configuration, options: ApplyOptions): KubeObject {
  const object = settleDecoded(store, applied(store, configuration, undefined, undefined, options))
  const { resourceVersion: _checked, ...metadata } = object.metadata
  return { ...object, metadata }
}
