/** The command `pod-step`: what the containers clone and report of an attempt's pod run. */
import { writeFile } from 'node:fs/promises'
import { systemClock } from '../base/clock.ts'
import { runPodClone } from '../worker/pod-clone-step.ts'
import { ATTEMPT_VARIABLE, type AttemptInput, REFERENCE, SECRETS, WORK } from '../worker/pod-manifest.ts'
import { runPodReport } from '../worker/pod-report-step.ts'

/** Where a container leaves its last words. upstream: core/v1 Container.terminationMessagePath */
const TERMINATION_LOG = '/dev/termination-log'

export interface PodStepOptions {
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly signal: AbortSignal
  readonly out: NodeJS.WritableStream
}

/** Runs a step. Resolves to the exit code; rejects when the environment is not that of an attempt's pod. */
export async function runPodStep(step: 'clone' | 'report', { environment, signal, out }: PodStepOptions): Promise<number> {
  const input = readInput(environment[ATTEMPT_VARIABLE])
  const common = { input, work: WORK, reference: REFERENCE, clock: systemClock, signal }
  if (step === 'report') {
    const lines = await runPodReport(common)
    // written whole before the process may end
    await new Promise<void>((resolve, reject) => out.write(lines, (error) => (error ? reject(error) : resolve())))
    return 0
  }
  const result = await runPodClone({ ...common, secrets: SECRETS, environment })
  await writeFile(TERMINATION_LOG, JSON.stringify(result))
  out.write(`${'source' in result ? `cloned commit ${result.source.commit}` : `${result.failure.reason}: ${result.failure.message}`}\n`)
  return 'source' in result ? 0 : 1
}

function readInput(text: string | undefined): AttemptInput {
  if (text === undefined) throw new Error(`${ATTEMPT_VARIABLE} is not set: this command is for the pods of a worker`)
  return JSON.parse(Buffer.from(text, 'base64').toString('utf8')) as AttemptInput
}
