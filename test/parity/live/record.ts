/**
 * Records what a real kube-apiserver answers to the conversations of chains.json, which are those that once showed a difference.
 *
 *   node test/parity/live/record.ts
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { encodeJson } from '../../../src/api/codec.ts'
import { printDefinition } from '../../../src/api/definition-print.ts'
import { startControlPlane } from '../../control-plane/control-plane.ts'
import { runScenarios } from '../run.ts'
import { CHAINS, loadScenarios } from '../scenarios.ts'
import { DEFINITIONS, FIRST_REVISION, loadDefinition } from '../serve.ts'

await using reference = await startControlPlane({ skipRevisions: FIRST_REVISION })
await reference.install(DEFINITIONS.map((name) => encodeJson(printDefinition(loadDefinition(name)))))
const answers = await runScenarios(reference, loadScenarios(CHAINS.scenarios))
const lines = [...answers].sort(([a], [b]) => (a < b ? -1 : 1)).flatMap(([id, steps]) => steps.map((answer, step) => JSON.stringify({ id, step, ...answer })))
writeFileSync(join(import.meta.dirname, '..', CHAINS.reference), `${lines.join('\n')}\n`)
process.stdout.write(`${lines.length} answers\n`)
