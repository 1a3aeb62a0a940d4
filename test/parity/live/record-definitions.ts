/**
 * Writes what a real kube-apiserver answers to the manifests of a file of test/definitions beside it.
 *
 *   node test/parity/live/record-definitions.ts FILE.yaml…
 */
import { writeFileSync } from 'node:fs'
import { Agent } from 'node:https'
import { join } from 'node:path'
import { startControlPlane } from '../../control-plane/control-plane.ts'
import { readManifests } from '../../definitions/answers.ts'
import { askReference } from './compare-definitions.ts'

const FOLDER = join(import.meta.dirname, '../../definitions')

await using reference = await startControlPlane()
const agent = new Agent({ keepAlive: true })
for (const file of process.argv.slice(2)) {
  const answers: string[] = []
  for (const { name, text } of readManifests(file)) {
    const answer = await askReference({ url: reference.url, pki: reference.pki, agent }, { name, text, mediaType: 'application/yaml', fieldValidation: 'Strict' })
    answers.push(`  ${JSON.stringify(answer)}`)
  }
  writeFileSync(join(FOLDER, file.replace('.yaml', '.json')), `[\n${answers.join(',\n')}\n]\n`)
}
agent.destroy()
