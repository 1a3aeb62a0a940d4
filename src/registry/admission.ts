/** Admission: what may change or refuse a write before it is stored, in two passes as upstream. */
import type { KubeObject } from '../api/object.ts'
import type { ResourceDefinition } from '../api/resource.ts'

/** The write under admission. Objects are in the request version; `object` is absent for a deletion, `old` for a creation. */
export interface AdmissionRequest {
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE'
  readonly definition: ResourceDefinition
  readonly version: string
  readonly subresource: string
  readonly namespace: string
  readonly name: string
  readonly object?: KubeObject
  readonly old?: KubeObject
  readonly dryRun: boolean
}

/** One plugin; both passes are optional. A refusal is a thrown StatusError. */
export interface AdmissionPlugin {
  /** Mutating pass: the object to go on with. */
  admit?(request: AdmissionRequest): Promise<KubeObject | undefined>
  /** Validating pass. */
  validate?(request: AdmissionRequest): Promise<void>
}

/** Runs the mutating pass; returns the object to go on with. */
export async function admit(plugins: readonly AdmissionPlugin[], request: AdmissionRequest & { readonly object: KubeObject }): Promise<KubeObject> {
  let object = request.object
  for (const plugin of plugins) object = (await plugin.admit?.({ ...request, object })) ?? object
  return object
}

/** Runs the mutating pass of a deletion, which has no object to change. */
export async function admitDeletion(plugins: readonly AdmissionPlugin[], request: AdmissionRequest): Promise<void> {
  for (const plugin of plugins) await plugin.admit?.(request)
}

/** Runs the validating pass. */
export async function validateAdmission(plugins: readonly AdmissionPlugin[], request: AdmissionRequest): Promise<void> {
  for (const plugin of plugins) await plugin.validate?.(request)
}
