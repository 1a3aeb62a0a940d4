/** Our server with the kinds that are talked about, in this process. */
import { noConversion } from '../../../src/api/lens-conversion.ts'
import { coreResources } from '../../../src/resources/core/index.ts'
import { startServer, type Harness } from '../../harness.ts'
import { openMemoryBackend } from '../../model/memory-backend.ts'
import { skipRevisions } from '../serve.ts'
import type { LiveKind } from './kinds.ts'

/** Starts it; its first revisions are compacted, as those of the reference are. */
export async function openOurs(kinds: readonly LiveKind[], skipped: number): Promise<Harness> {
  const backend = openMemoryBackend()
  await skipRevisions(backend, skipped)
  return await startServer({ backend, resources: [...coreResources, ...kinds.map(({ definition }) => ({ definition, conversion: noConversion(definition) }))] })
}
