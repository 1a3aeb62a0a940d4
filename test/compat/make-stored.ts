/**
 * Writes the stored bytes of a release, once: `node test/compat/make-stored.ts 0.1.0`. Each line has a stored value and the object that it is, in the hub version.
 * The file of a release that is out is never written again; test/stored-bytes.test.ts reads them all.
 */
import { writeFileSync } from 'node:fs'
import fc from 'fast-check'
import type { KubeObject } from '../../src/api/object.ts'
import { migrationCodec } from '../../src/registry/migration-codec.ts'
import { createStorageCodec } from '../../src/registry/storage-codec.ts'
import { notebookValidationJobs } from '../../src/resources/notebookvalidationjobs/definition.ts'
import { resources } from '../../src/resources/index.ts'
import { arbitraryJob } from '../model/arbitrary-job.ts'

const release = process.argv[2]
if (release === undefined) throw new Error('say which release')

const { definition, conversion } = resources.find((served) => served.definition === notebookValidationJobs)!
const storage = createStorageCodec(definition, conversion)
const codec = migrationCodec(definition, storage)

/** Jobs as they were written in a version: small ones, and those with most of the fields. */
function jobs(version: string): KubeObject[] {
  const found = fc.sample(arbitraryJob(version), { numRuns: 60, seed: 20261130 }).map((object) => conversion.lift(received(object), version))
  const sized = found.map((hub) => ({ hub, size: codec.canonical(hub).length })).sort((a, b) => a.size - b.size)
  return [...sized.slice(0, 2), ...sized.slice(-4)].map(({ hub }) => hub)
}

/** Metadata as the server stores it: an empty list of managedFields is left out. */
function received(object: KubeObject): KubeObject {
  const { managedFields, ...metadata } = object.metadata
  return { ...object, metadata: { ...metadata, ...(managedFields?.length && { managedFields }) } as KubeObject['metadata'] }
}

const lines: string[] = []
for (const { name: written } of definition.versions) {
  for (const hub of jobs(written)) {
    for (const { name: version } of definition.versions) {
      const value = Buffer.from(codec.encode(hub, version))
      lines.push(JSON.stringify({ written, version, value: value.toString('base64'), hub: codec.canonical(codec.decode(value)) }))
    }
  }
}
writeFileSync(new URL(`stored-${release}.jsonl`, import.meta.url), `${lines.join('\n')}\n`, { flag: 'wx' })
