/** Makes a failing conversation smaller, as long as it still fails in the same way. */
import { isObject, type Json, type JsonObject } from '../../../src/api/object.ts'
import type { Chain, ChainStep } from './chain.ts'

const MAX_TRIALS = 250

/** The smallest chain that was found. `fails` holds a chain and says whether the difference is still there. */
export async function shrinkChain(chain: Chain, fails: (chain: Chain) => Promise<boolean>): Promise<Chain> {
  let best = chain
  let trials = 0
  for (let smaller = true; smaller && trials < MAX_TRIALS; ) {
    smaller = false
    for (const candidate of candidates(best)) {
      if (++trials > MAX_TRIALS) break
      if (!(await fails(candidate))) continue
      best = candidate
      smaller = true
      break
    }
  }
  return best
}

function* candidates({ seed, steps }: Chain): Generator<Chain> {
  for (const i of steps.keys()) yield { seed, steps: steps.filter((_, j) => j !== i) }
  for (const [i, step] of steps.entries()) {
    for (const smaller of smallerSteps(step)) yield { seed, steps: steps.map((other, j) => (j === i ? smaller : other)) }
  }
}

function* smallerSteps(step: ChainStep): Generator<ChainStep> {
  const { q, h, json } = step
  if (h !== undefined && Object.keys(h).length > 0) yield { ...step, h: {} }
  // Without the label a list of the cluster shows the objects of other chains.
  const own = (part: readonly [string, string]): boolean => part[1].includes('scn=')
  if (q !== undefined) for (const [i, part] of q.entries()) if (!own(part)) yield { ...step, q: q.filter((_, j) => j !== i) }
  if (json !== undefined) for (const smaller of smallerValues(json)) yield { ...step, json: smaller }
}

/** Larger parts go first. */
function* smallerValues(value: Json): Generator<Json> {
  if (Array.isArray(value)) {
    for (const i of value.keys()) yield value.filter((_, j) => j !== i)
    for (const [i, item] of value.entries()) for (const smaller of smallerValues(item)) yield value.map((other, j) => (j === i ? smaller : other))
  } else if (isObject(value)) {
    const members = Object.entries(value) as [string, Json][]
    const made = (entries: [string, Json][]): JsonObject => Object.fromEntries(entries)
    for (const [name] of members) yield made(members.filter(([other]) => other !== name))
    for (const [name, member] of members) {
      for (const smaller of smallerValues(member)) yield made(members.map(([other, kept]): [string, Json] => [other, other === name ? smaller : kept]))
    }
  }
}
