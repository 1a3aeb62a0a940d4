/** Runs the pods of a cluster in memory: their containers as processes of this machine, their volumes as folders. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../base/clock.ts'
import type { FakeCluster } from './cluster.fixture.ts'
import type { ContainerStatus } from './pod.ts'
import { runPodClone } from './pod-clone-step.ts'
import { ended as endedOnce, type PodShape, running } from './pod.fixture.ts'
import { ATTEMPT_VARIABLE, type AttemptInput } from './pod-manifest.ts'
import { runPodReport } from './pod-report-step.ts'
import type { Environment } from './process-group.ts'

type Container = { readonly name: string; readonly command?: readonly string[]; readonly env: readonly { readonly name: string; readonly value: string }[] }
type State = NonNullable<ContainerStatus['state']>

/** Runs every pod that is let in, until it is closed. */
export function startKubelet(cluster: FakeCluster, environment: Environment, python: string): { close(): Promise<void> } {
  const abort = new AbortController()
  const pods: Promise<void>[] = []
  const done = (async () => {
    while (!abort.signal.aborted) {
      for (const { key } of cluster.admitted.slice(pods.length)) pods.push(runPod(cluster, key, { environment, python, signal: abort.signal }))
      await systemClock.sleep(20)
    }
  })()
  return {
    close: async () => {
      abort.abort()
      await done
      await Promise.all(pods)
    },
  }
}

type Node = { readonly environment: Environment; readonly python: string; readonly signal: AbortSignal }

async function runPod(cluster: FakeCluster, key: string, node: Node): Promise<void> {
  const pod = cluster.pods.objects.get(key)!
  const root = mkdtempSync(join(tmpdir(), 'nvj-pod-'))
  const [work, reference, secrets, temporary] = ['work', 'reference', 'secrets', 'tmp'].map((name) => join(root, name)) as [string, string, string, string]
  for (const directory of [work, reference, secrets, temporary]) mkdirSync(directory)
  const { initContainers, containers } = pod.spec as unknown as { initContainers: Container[]; containers: Container[] }
  const input = JSON.parse(Buffer.from(valueOf(initContainers[0]!, ATTEMPT_VARIABLE), 'base64').toString('utf8')) as AttemptInput
  const shape: PodShape = { phase: 'Pending', clone: running }
  const show = (more: PodShape): void => cluster.setPod(key, Object.assign(shape, more))
  try {
    show({})
    const cloned = await runPodClone({ input, work, reference, secrets, environment: node.environment, clock: systemClock, signal: node.signal })
    const clone = ended('source' in cloned ? 0 : 1, 'source' in cloned ? 'Completed' : 'Error', JSON.stringify(cloned))
    if (!('source' in cloned)) return show({ clone, phase: 'Failed' })
    show({ clone, phase: 'Running', execute: running, report: running })
    const executing = execute(containers[0]!, { work, temporary }, node).then((state) => (show({ execute: state }), state))
    const lines = await runPodReport({ input, work, reference, clock: systemClock, signal: node.signal })
    cluster.logs.set(pod.metadata.uid ?? '', lines)
    show({ report: ended(0) })
    const { terminated } = await executing
    show({ phase: terminated?.exitCode === 0 ? 'Succeeded' : 'Failed' })
  } catch (error) {
    if (!node.signal.aborted) throw error
  } finally {
    rmSync(root, { recursive: true, force: true, maxRetries: 3 })
  }
}

async function execute({ command = [], env }: Container, { work, temporary }: { work: string; temporary: string }, { environment, python, signal }: Node): Promise<State> {
  const place = (text: string): string => text.replaceAll('/mlops/work', work)
  const variables = { ...Object.fromEntries(env.map(({ name, value }) => [name, place(value)])), TMPDIR: temporary, PATH: environment.PATH }
  const child = spawn(python, command.slice(1).map(place), { cwd: work, env: variables, stdio: 'ignore' })
  const stop = (): void => void child.kill('SIGTERM')
  signal.addEventListener('abort', stop, { once: true })
  const [code] = await once(child, 'exit')
  signal.removeEventListener('abort', stop)
  return ended(code ?? 137)
}

/** Has ended now. */
function ended(...how: Parameters<typeof endedOnce>): State {
  const at = new Date(systemClock.now()).toISOString()
  return { terminated: { ...endedOnce(...how).terminated, startedAt: at, finishedAt: at } }
}

const valueOf = ({ env }: Container, wanted: string): string => env.find(({ name }) => name === wanted)?.value ?? ''
