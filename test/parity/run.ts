/** Holds the conversations with a server, several at a time, each in its order. */
import { Agent } from 'node:https'
import { normalAnswer, Names, parseBody } from './normal-form.ts'
import type { Recorded, Scenario } from './scenarios.ts'
import { sendStep, type Target } from './send.ts'

const CONCURRENCY = 24

/** The normal answers of each scenario by its id. */
export async function runScenarios(server: Pick<Target, 'url' | 'pki'>, scenarios: readonly Scenario[]): Promise<Map<string, Recorded[]>> {
  const agent = new Agent({ keepAlive: true })
  const answers = new Map<string, Recorded[]>()
  // Whether a page is the last depends on the keys behind it, so the others' objects must not be there yet.
  for (const scenario of scenarios.filter(hasPages)) answers.set(scenario.id, await runScenario({ ...server, agent }, scenario))
  // Those that wait for streams take longest.
  const queue = scenarios.filter((scenario) => !hasPages(scenario)).sort((a, b) => streaming(b) - streaming(a))
  const work = async () => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) answers.set(next.id, await runScenario({ ...server, agent }, next))
  }
  try {
    await Promise.all(Array.from({ length: CONCURRENCY }, work))
  } finally {
    agent.destroy()
  }
  return answers
}

const hasPages = ({ steps }: Scenario): boolean => steps.some(({ q, stream }) => stream === undefined && JSON.stringify(q ?? null).includes('"limit"'))

const streaming = ({ steps }: Scenario): number => steps.reduce((sum, { stream = 0 }) => sum + stream, 0)

async function runScenario(target: Target, { id, steps }: Scenario): Promise<Recorded[]> {
  const variables: Record<string, string> = { ID: id }
  const names = new Names()
  const answers: Recorded[] = []
  for (const step of steps) {
    const raw = await sendStep(target, step, variables)
    const body = parseBody(raw.text, step.stream !== undefined)
    for (const [name, path] of Object.entries(step.save ?? {})) {
      const value = pick(body, path)
      if (value !== undefined && value !== null) variables[name] = String(value)
    }
    answers.push(normalAnswer(raw, step.nobody ? undefined : body, names))
  }
  return answers
}

function pick(body: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>((value, key) => (typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[key] : undefined), body)
}
