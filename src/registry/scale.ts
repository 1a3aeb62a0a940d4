/**
 * The scale subresource: its verbs are those of the object, whose Scale the request sees and changes.
 * upstream: apiextensions-apiserver/pkg/registry/customresource/etcd.go: ScaleREST, scaleUpdatedObjectInfo
 */
import { applyPatch } from '../api/managed-fields/apply.ts'
import { toParentEntries, toScaleEntries } from '../api/managed-fields/scale.ts'
import { trackUpdate } from '../api/managed-fields/update.ts'
import { dedupOwnerReferences } from '../api/metadata.ts'
import { formatApiVersion, type JsonObject, type KubeObject } from '../api/object.ts'
import type { ScaleDefinition } from '../api/resource.ts'
import { NO_REPLICAS, scaleOf, withReplicas, type Scale } from '../api/scale.ts'
import { badRequest, internalError, notFound, rawError, StatusError } from '../api/status.ts'
import type { ApplyOptions, Configuration } from './apply.ts'
import { endpointOf } from './ownership.ts'
import { encodeEntry, get, parseReady } from './read.ts'
import { requestVersion, type ResourceStore } from './resource-store.ts'
import { checkUid, update, type UpdateOptions } from './update.ts'

/** The live Scale, with the owners of its fields → the one to write. */
export type ScaleTransform = (live: Scale) => Scale

/** Reads the Scale of an object. Throws 404, and 500 for an object without replicas. */
export async function getScale(store: ResourceStore, version: string, namespace: string, name: string, resourceVersion: string): Promise<Scale> {
  const definition = definitionOf(store, version, name)
  const entry = await get(store, namespace, name, resourceVersion)
  const object = parseReady(encodeEntry(store, entry, version), entry.revision)
  const { scale, hasReplicas } = fallible(() => scaleOf(object, definition))
  if (!hasReplicas) throw internalError(`the spec replicas field "${definition.specReplicasPath}" does not exist`)
  return scale
}

/** Updates the replicas of an object. Throws 400, 404, 409, 422 and what `transform` throws. */
export async function updateScale(store: ResourceStore, transform: ScaleTransform, options: UpdateOptions): Promise<Scale> {
  const definition = definitionOf(store, options.version, options.name)
  const tracked = (live: Scale): KubeObject => {
    const next = transform(live)
    if (options.kind === 'put') checkUid(store, next.metadata.uid, live, options)
    const { warning } = dedupOwnerReferences(next, 'admission')
    if (warning) options.warn(warning)
    return trackUpdate({ ...endpointOf(store, options, undefined), live, next, manager: options.manager, now: store.clock.now() })
  }
  return await write(store, definition, tracked, options)
}

const NO_OWNER =
  'failed to create manager for existing fields: failed to convert live object (/; autoscaling/v1, Kind=Scale) to proper version: request to convert CR to an invalid group/version: autoscaling/v1'

/** Applies a configuration of a Scale, which is never created. Throws as an apply to the object does, and 500 when nobody owns the replicas or anything would change. */
export async function applyScale(store: ResourceStore, configuration: Configuration, options: ApplyOptions): Promise<Scale> {
  const definition = definitionOf(store, options.version, options.name)
  const { manager, force } = options
  const applied = (live: Scale): KubeObject => {
    const endpoint = endpointOf(store, options, undefined)
    // What was there before the first apply would have to be seen in a version that the object does not have.
    if ((live.metadata.managedFields ?? []).length === 0) throw rawError(NO_OWNER)
    const object = applyPatch({ ...endpoint, live, config: configuration.decode(), manager, force, now: store.clock.now() })
    configuration.check()
    return object
  }
  return await write(store, definition, applied, { ...options, kind: 'apply' })
}

function definitionOf(store: ResourceStore, version: string, name: string): ScaleDefinition {
  const definition = requestVersion(store, version).subresources?.scale
  if (definition === undefined) throw notFound(store.resource, name)
  return definition
}

async function write(store: ResourceStore, definition: ScaleDefinition, change: (live: Scale) => KubeObject, options: UpdateOptions): Promise<Scale> {
  const { ready, revision = 0 } = await update(store, (live) => scaled(store, definition, live, change, options.version), options)
  try {
    return scaleOf(parseReady(ready, revision), definition).scale
  } catch (error) {
    throw badRequest((error as Error).message)
  }
}

// The object as a change of its Scale makes it: other replicas, other owners of them, and the resourceVersion that the request expects.
function scaled(store: ResourceStore, definition: ScaleDefinition, live: KubeObject, change: (live: Scale) => KubeObject, version: string): KubeObject {
  const { managedFields, ...metadata } = live.metadata
  const { scale, hasReplicas } = fallible(() => scaleOf(live, definition))
  const owners = fallible(() => toScaleEntries(store.definition, managedFields))
  const shown: Scale = { ...scale, metadata: { ...scale.metadata, ...ownersOf(owners) }, ...(hasReplicas ? {} : { spec: { replicas: NO_REPLICAS } }) }
  const changed = change(shown) as Scale
  const { replicas = 0 } = changed.spec
  if (replicas === NO_REPLICAS) throw badRequest(`the spec replicas field "${definition.specReplicasPath}" cannot be empty`)
  const apiVersion = formatApiVersion(store.definition.group, version)
  const entries = fallible(() => toParentEntries(store.definition, apiVersion, managedFields, changed.metadata.managedFields))
  const resourceVersion = changed.metadata.resourceVersion || metadata.resourceVersion
  const object = fallible(() => withReplicas(live, definition.specReplicasPath, replicas))
  return { ...object, metadata: { ...metadata, ...(resourceVersion ? { resourceVersion } : {}), ...ownersOf(entries) } }
}

const ownersOf = (managedFields: JsonObject[] | undefined) => (managedFields === undefined ? {} : { managedFields })

// What upstream does not expect to fail is a 500 with Go's text.
function fallible<T>(run: () => T): T {
  try {
    return run()
  } catch (error) {
    throw error instanceof StatusError || !(error instanceof Error) ? error : rawError(error.message)
  }
}
