/** The jobs of the crash campaign. */
import type { KubeObject } from '../../src/api/object.ts'
import { findVersion, qualifiedName } from '../../src/api/resource.ts'
import { migrationCodec } from '../../src/registry/migration-codec.ts'
import { createStorageCodec } from '../../src/registry/storage-codec.ts'
import { resources } from '../../src/resources/index.ts'
import { notebookValidationJobs } from '../../src/resources/notebookvalidationjobs/definition.ts'
import { alphaJob, job } from '../jobs.ts'
import { complete } from '../model/arbitrary-object.ts'

const { definition, conversion } = resources.find((served) => served.definition === notebookValidationJobs)!

export const RESOURCE = qualifiedName(definition)
export const PREFIX = `data/${RESOURCE}/`
/** Oldest first. */
export const VERSIONS = ['v1alpha1', 'v1beta1', 'v1']
export const codec = migrationCodec(definition, createStorageCodec(definition, conversion))

/** A job as a client of a version makes it, in hub form. */
export function jobWith(key: string, note: string, version: string): KubeObject {
  const [namespace, name] = key.split('/') as [string, string]
  const metadata = { namespace, uid: `uid-of-${name}`, generation: 3, annotations: { note } }
  const written = version === 'v1alpha1' ? alphaJob(name, { metadata }) : { ...job(name, { metadata }), apiVersion: `mlops.dev/${version}` }
  return conversion.lift(complete(written as unknown as KubeObject, findVersion(definition, version)!.schema), version)
}

/** The note of a job in hub form. */
export function noteOf(hub: KubeObject): string {
  return (hub.metadata.annotations as { note: string }).note
}
