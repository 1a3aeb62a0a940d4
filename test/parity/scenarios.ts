/** The recorded conversations: chains of requests, and what a kube-apiserver 1.36.3 answered to each. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** One request. `${NAME}` stands for a variable: the scenario's id as ID, and what earlier answers gave. */
export interface Step {
  readonly m: string
  readonly path: string
  readonly q?: Readonly<Record<string, unknown>> | readonly (readonly [string, unknown])[]
  readonly h?: Readonly<Record<string, string>>
  /** A text is sent as it is. */
  readonly body?: unknown
  readonly ct?: string
  /** Variable → dotted path into the answer. */
  readonly save?: Readonly<Record<string, string>>
  /** Read a stream until nothing has come for so many seconds. */
  readonly stream?: number
  /** Only status and headers count. */
  readonly nobody?: boolean
}

export interface Scenario {
  readonly id: string
  readonly tags: readonly string[]
  readonly steps: readonly Step[]
}

/** An answer in its normal form; see normal-form.ts. */
export interface Recorded {
  readonly status: number
  readonly headers: Readonly<Record<string, string | readonly string[]>>
  readonly body: unknown
}

/** The files of a set: its conversations, and the recorded answers. */
export interface Recording {
  readonly scenarios: string
  readonly reference: string
}

/** 366 conversations, 1,159 requests, recorded by others. */
export const GIVEN: Recording = { scenarios: 'scenarios.json', reference: 'reference.jsonl' }
/** Those of our own that once showed a difference; live/record.ts records them. */
export const CHAINS: Recording = { scenarios: 'chains.json', reference: 'chains.jsonl' }

const read = (name: string): string => readFileSync(join(import.meta.dirname, name), 'utf8')

/** Parses JSON and keeps each number as it is written, so that it is sent as it is written. */
function parseKeepingNumbers(text: string): unknown {
  const keep = (_key: string, value: unknown, context?: { source?: string }): unknown =>
    typeof value === 'number' && context?.source !== undefined ? rawJson(context.source) : value
  return JSON.parse(text, keep as Parameters<typeof JSON.parse>[1])
}

/** A number that JSON.stringify writes exactly so. */
export function rawJson(text: string): unknown {
  return (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(text)
}

/** The conversations of a file of this folder. */
export function loadScenarios(file: string): Scenario[] {
  const text = read(file)
  const exact = parseKeepingNumbers(text) as { steps: { body?: unknown }[] }[]
  return (JSON.parse(text) as Scenario[]).map((scenario, i) => ({
    ...scenario,
    steps: scenario.steps.map((step, j) => (step.body === undefined || step.body === null ? step : { ...step, body: exact[i]?.steps[j]?.body })),
  }))
}

/** The recorded answers of a file by scenario, in the order of its steps. */
export function loadReference(file: string): Map<string, Recorded[]> {
  const answers = new Map<string, Recorded[]>()
  for (const line of read(file).trimEnd().split('\n')) {
    const { id, step, status, headers, body } = JSON.parse(line) as Recorded & { id: string; step: number }
    const steps = answers.get(id) ?? []
    steps[step] = { status, headers, body }
    answers.set(id, steps)
  }
  return answers
}
