/** Holds a conversation with both servers and finds the first answer that differs. */
import { isDeepStrictEqual } from 'node:util'
import type { Recorded } from '../scenarios.ts'
import type { Target } from '../send.ts'
import type { Chain, ChainStep } from './chain.ts'
import { holdChain } from './hold-chain.ts'

export interface Servers {
  readonly reference: Target
  readonly ours: Target
}

/** Two answers that are not alike. */
export interface Difference {
  readonly place: number
  readonly step: ChainStep
  readonly expected: Recorded
  readonly actual: Recorded
}

const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

export async function compareChain({ reference, ours }: Servers, chain: Chain, id: string): Promise<Difference | undefined> {
  const [expected, actual] = await Promise.all([holdChain(reference, chain, id), holdChain(ours, chain, id)])
  // What a held stream shows follows from the requests.
  const order = [...chain.steps.entries()].sort(([i, a], [j, b]) => Number(a.hold ?? false) - Number(b.hold ?? false) || i - j)
  for (const [place, step] of order) {
    const [a, b] = [expected[place] as Recorded, actual[place] as Recorded]
    if (!isDeepStrictEqual(plain(a), plain(b))) return { place, step, expected: a, actual: b }
  }
  return undefined
}

/** Where two answers differ, as `path: expected → actual` lines. */
export function describe({ expected, actual }: Difference): string[] {
  const lines: string[] = []
  collect('', plain(expected), plain(actual), lines)
  return lines
}

function collect(path: string, a: unknown, b: unknown, lines: string[]): void {
  if (isDeepStrictEqual(a, b)) return
  if (isContainer(a) && isContainer(b) && Array.isArray(a) === Array.isArray(b)) {
    for (const key of new Set([...Object.keys(a), ...Object.keys(b)])) collect(`${path}/${key}`, a[key], b[key], lines)
  } else {
    lines.push(`${path}:\n    reference ${JSON.stringify(a)}\n    ours      ${JSON.stringify(b)}`)
  }
}

const isContainer = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null

/** The same for differences that are likely of one cause: the paths, without what is particular to the objects. */
export function signature(difference: Difference): string {
  const { step, expected, actual } = difference
  const kind = `${step.m} ${step.ct ?? ''} ${/\/(status|scale)$/.exec(step.path)?.[0] ?? ''}`
  if (expected.status !== actual.status) return `${kind} ${expected.status} → ${actual.status} ${shape(expected.body)} → ${shape(actual.body)}`
  const paths = describe(difference).map((line) => (line.split(':\n')[0] as string).replace(/\/\d+/g, '/n'))
  return `${kind} ${expected.status} ${[...new Set(paths)].slice(0, 3).join(' ')} ${shape(expected.body)}`
}

function shape(body: unknown): string {
  const message = (body as { message?: unknown } | null)?.message
  return typeof message === 'string' ? message.replace(/"[^"]*"/g, '"…"').replace(/\d+/g, 'N').slice(0, 160) : ''
}
