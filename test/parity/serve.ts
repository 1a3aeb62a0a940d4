/** The server that the conversations are held with: the recorded definitions beside our own. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readDefinition } from '../../src/api/definition.ts'
import { noConversion } from '../../src/api/lens-conversion.ts'
import type { JsonObject } from '../../src/api/object.ts'
import type { ResourceDefinition } from '../../src/api/resource.ts'
import { decodeYaml } from '../../src/api/yaml.ts'
import { coreResources } from '../../src/resources/core/index.ts'
import { resources } from '../../src/resources/index.ts'
import type { Backend } from '../../storage/backend.ts'
import { startServer, type Harness } from '../harness.ts'
import { openMemoryBackend } from '../model/memory-backend.ts'

/** Revisions below are compacted, so that a recorded resourceVersion of 1 is too old, and no revision looks like another number. */
export const FIRST_REVISION = 20_000

/** What is served beside our own resources. */
export const DEFINITIONS = ['crontabs', 'gadgets', 'policies', 'routes', 'widgets']

/** A definition of the folder `definitions`. */
export function loadDefinition(name: string): ResourceDefinition {
  const text = readFileSync(join(import.meta.dirname, 'definitions', `${name}.yaml`), 'utf8')
  return readDefinition(decodeYaml(text).value as JsonObject)
}

/** Starts it. */
export async function serveParity(): Promise<Harness> {
  const backend = openMemoryBackend()
  await skipRevisions(backend, FIRST_REVISION)
  const recorded = DEFINITIONS.map(loadDefinition)
  return await startServer({
    backend,
    resources: [...coreResources, ...resources, ...recorded.map((definition) => ({ definition, conversion: noConversion(definition) }))],
  })
}

/** Lets so many revisions pass and compacts them. */
export async function skipRevisions(backend: Backend, count: number): Promise<void> {
  const value = new Uint8Array()
  for (let i = 0; i < count; i++) await backend.commit({ compare: [], put: [{ key: 'skipped', value }] })
  await backend.compact(await backend.currentRevision())
}
