/**
 * The manifests of test/definitions, sent to a real kube-apiserver and checked by ours: the same verdicts, texts and warnings.
 *
 *   node test/parity/live/definitions.ts [--record FILE.yaml]
 *
 * `--record` writes what the kube-apiserver answers to the manifests of that file beside it. Exit 1 when an answer differs.
 */
import { writeFileSync } from 'node:fs'
import { Agent } from 'node:https'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startControlPlane } from '../../control-plane/control-plane.ts'
import { manifestFiles, readManifests } from '../../definitions/answers.ts'
import { askReference, compareDefinitions, describeDifference } from './compare-definitions.ts'

const FOLDER = join(import.meta.dirname, '../../definitions')
const say = (text: string): void => void process.stdout.write(`${text}\n`)

async function main(): Promise<boolean> {
  const { values: { record } } = parseArgs({ options: { record: { type: 'string' } } })
  await using reference = await startControlPlane()
  const agent = new Agent({ keepAlive: true })
  const target = { url: reference.url, pki: reference.pki, agent }
  try {
    if (record !== undefined) {
      const answers: string[] = []
      for (const manifest of readManifests(record)) answers.push(`  ${JSON.stringify(await askReference(target, manifest, 'Strict'))}`)
      writeFileSync(join(FOLDER, record.replace('.yaml', '.json')), `[\n${answers.join(',\n')}\n]\n`)
      return true
    }
    const manifests = manifestFiles.flatMap(readManifests)
    const differences = await compareDefinitions(target, manifests)
    for (const difference of differences) say(describeDifference(difference))
    say(`${manifests.length} manifests, each under Strict and Warn: ${differences.length} differences`)
    return differences.length === 0
  } finally {
    agent.destroy()
  }
}

process.exitCode = (await main()) ? 0 : 1
