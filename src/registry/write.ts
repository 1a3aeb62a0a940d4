/** What the writing verbs share: their options and their result. */
import { encodeObject } from '../api/codec.ts'
import type { Endpoint } from '../api/managed-fields/scope.ts'
import type { JsonObject, KubeObject } from '../api/object.ts'
import { badRequest, conflict, goQuote, type StatusError } from '../api/status.ts'
import type { ReadyBytes } from '../../storage/watch-cache.ts'
import { relativeKey, requestVersion, type ResourceStore } from './resource-store.ts'

export interface WriteOptions {
  /** The request version. */
  readonly version: string
  /** "" for a cluster-scoped resource. */
  readonly namespace: string
  readonly subresource: Endpoint['subresource']
  readonly dryRun: boolean
  /** Of an apply: members of metadata that no reader sees, but which are stored as they were applied. */
  readonly unread?: () => JsonObject | undefined
  /** Under which name the writer owns the fields that it sets. */
  readonly manager: string
  /** Takes the texts of Warning headers, in order. */
  readonly warn: (text: string) => void
}

/** The field manager of the server's own writes. */
const OWN_MANAGER = 'mlops-apiserver'

/** The options of a write that the server makes itself: in the hub version, warnings unread. */
export function internalWrite(store: ResourceStore, namespace: string): WriteOptions {
  return { version: store.conversion.hub, namespace, subresource: '', dryRun: false, manager: OWN_MANAGER, warn: () => {} }
}

/** The object that a write leaves, in the request version, without its resourceVersion, which is `revision` (absent: none yet, a dry-run creation, which keeps one that was sent). */
export interface WriteResult {
  readonly ready: ReadyBytes
  readonly revision?: number | string
  readonly created?: true
}

/** What is stored of an apply though no reader sees it: nothing, when its object is converted first, or keeps the metadata that it has. */
export function unreadOf({ conversion }: Pick<ResourceStore, 'conversion'>, { unread, version, subresource }: Pick<WriteOptions, 'unread' | 'version' | 'subresource'>): JsonObject | undefined {
  return version === conversion.hub && subresource === '' ? unread?.() : undefined
}

/** The result of a write that was not stored: the object as it would be read. */
export function unstored(hub: KubeObject, store: ResourceStore, version: string, revision?: number | string): WriteResult {
  const value = store.codec.seal(hub, store.fence.current().encodingVersion)
  return { ready: store.codec.encode('', value, version), ...(revision === undefined ? {} : { revision }) }
}

/** An object's bytes, as they are answered. */
export function encodeReady(object: KubeObject): ReadyBytes {
  const { text, place } = encodeObject(object)
  return { bytes: Buffer.from(text), place }
}

/** True when the status of this version is written through its subresource only. */
export function hasStatusSubresource(store: ResourceStore, version: string): boolean {
  return requestVersion(store, version).subresources?.status !== undefined
}

/** An object as it is after decoding, whoever made it. */
export function settleDecoded({ strategy }: Pick<ResourceStore, 'strategy'>, object: KubeObject): KubeObject {
  return strategy.settleDecoded?.(object) ?? object
}

/** Fills, checks or (of a cluster-scoped resource, whose requests have none) drops the namespace of a body. upstream: rest.EnsureObjectNamespaceMatchesRequestNamespace */
export function settleNamespace(object: KubeObject, namespace: string): KubeObject {
  const own = object.metadata.namespace ?? ''
  if (own === namespace) return object
  if (namespace === '') {
    const { namespace: _, ...metadata } = object.metadata
    return { ...object, metadata }
  }
  if (own !== '') throw badRequest('the namespace of the provided object does not match the namespace sent on the request')
  return { ...object, metadata: { ...object.metadata, namespace } }
}

/** Checks the name of an update's body against the URL. upstream: handlers/rest.go: checkName */
export function checkName(object: KubeObject, name: string): void {
  const own = object.metadata.name ?? ''
  if (own === '') throw badRequest(`the name of the object (${name} based on URL) was undeterminable: name must be provided`)
  if (own !== name) throw badRequest(`the name of the object (${own}) does not match the name on the URL (${name})`)
}

/** 409 for what the storage of upstream expects and does not find. upstream: storage.NewInvalidObjError, Preconditions.Check */
export function preconditionFailed({ definition, resource }: ResourceStore, name: string, text: string, { namespace, dryRun }: Pick<WriteOptions, 'namespace' | 'dryRun'>): StatusError {
  // A dry run does not get to where keys are prefixed.
  const key = `${dryRun ? '' : '/registry'}/${definition.group}/${definition.names.plural}/${relativeKey(definition, namespace, name)}`
  return conflict(resource, name, `StorageError: invalid object, Code: 4, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: ${text}`)
}

/** Checks a name in the URL. upstream: apimachinery/pkg/api/validation/path: IsValidPathSegmentName */
export function checkPathName(name: string): void {
  const faults = name === '.' || name === '..' ? [`may not be '${name}'`] : ['/', '%'].filter((c) => name.includes(c)).map((c) => `may not contain '${c}'`)
  if (faults.length > 0) throw badRequest(`Name parameter invalid: ${goQuote(name)}: ${faults.join(';')}`)
}
