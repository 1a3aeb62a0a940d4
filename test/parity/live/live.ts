/**
 * The live differential test: the same random conversations with a real kube-apiserver and with our server.
 *
 *   node test/parity/live/live.ts [--requests 10000] [--seed 1] [--chain SEED] [--shrink 8] [--definitions FOLDER]
 *
 * `--definitions` talks about the CustomResourceDefinitions (JSON) of a folder, such as those of public projects, in place of our own.
 * `--chain` holds the one conversation of that seed and prints it. Exit 1 when an answer differs and nobody knows why.
 */
import { Agent } from 'node:https'
import { parseArgs } from 'node:util'
import { startControlPlane } from '../../control-plane/control-plane.ts'
import { printScenario, type Chain } from './chain.ts'
import { compareChain, describe, signature, type Difference, type Servers } from './compare.ts'
import { generateChain } from './generate-chain.ts'
import { foreignKinds, liveKinds, manifests, type LiveKind } from './kinds.ts'
import { knownDifferences } from './known-differences.ts'
import { shrinkChain } from './shrink.ts'
import { openOurs } from './ours.ts'

const CONCURRENCY = 16
const REPETITIONS = 3
const SKIPPED_REVISIONS = 20_000
/** What making all differences smaller may take. */
const SHRINK_MS = 180_000

interface Options {
  readonly requests: number
  readonly seed: number
  readonly shrink: number
}

interface Found {
  readonly chain: Chain
  readonly difference: Difference
}

interface Outcome {
  requests: number
  /** Requests after the first that differs in a known way: what they meet is no longer the same. */
  skipped: number
  readonly known: Map<string, number>
  readonly found: Found[]
}

const say = (text: string): void => void process.stdout.write(`${text}\n`)
/** Ends the run early and orderly, so that nothing stays behind. */
const stopped = new AbortController()
let runs = 0
const nextId = (): string => `c${++runs}`

const reasonOf = (difference: Difference): string | undefined => knownDifferences.find((known) => known.applies(difference))?.reason

async function compareMany(servers: Servers, kinds: readonly LiveKind[], { requests, seed }: Options): Promise<Outcome> {
  const outcome: Outcome = { requests: 0, skipped: 0, known: new Map(), found: [] }
  // Seeds of one run do not meet those of the next.
  let next = seed * 1_000_000
  const work = async () => {
    while (outcome.requests < requests && !stopped.signal.aborted) {
      const chain = generateChain(kinds, next++)
      const { length } = chain.steps
      outcome.requests += length
      const difference = await compareChain(servers, chain, nextId())
      if (difference === undefined) continue
      outcome.skipped += length - difference.place - 1
      const reason = reasonOf(difference)
      if (reason === undefined) outcome.found.push({ chain, difference })
      else outcome.known.set(reason, (outcome.known.get(reason) ?? 0) + 1)
    }
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, work))
  return outcome
}

/**
 * A stream may begin a moment earlier on one side, and a second may begin between two answers. What is not seen again is no difference
 * between the servers; it is printed all the same.
 */
async function repeated(servers: Servers, { chain, difference }: Found): Promise<boolean> {
  for (let i = 0; i < REPETITIONS; i++) if ((await compareChain(servers, chain, nextId())) !== undefined) return true
  say(`seen once, and not in ${REPETITIONS} repetitions: chain ${chain.seed}: ${signature(difference)}`)
  return false
}

function group(found: readonly Found[]): [string, Found[]][] {
  const groups = Map.groupBy(found, ({ difference }) => signature(difference))
  return [...groups].sort(([, a], [, b]) => b.length - a.length)
}

async function explain(servers: Servers, found: readonly Found[], deadline: number): Promise<string> {
  const { chain, difference } = found.toSorted((a, b) => a.difference.place - b.difference.place)[0] as Found
  const wanted = signature(difference)
  const fails = async (smaller: Chain): Promise<boolean> => {
    if (performance.now() > deadline || stopped.signal.aborted) return false
    const again = await compareChain(servers, smaller, nextId()).catch(() => undefined)
    return again !== undefined && signature(again) === wanted
  }
  // What a held stream shows comes from the steps behind it.
  const steps = difference.step.hold ? chain.steps : chain.steps.slice(0, difference.place + 1)
  const small = await shrinkChain({ ...chain, steps }, fails)
  const again = await compareChain(servers, small, nextId())
  const lines = describe(again ?? difference)
  return [...(again === undefined ? ['not seen again when repeated; first seen as'] : []), printScenario(`s${chain.seed}`, small), ...lines].join('\n')
}

/** Prints the outcome; returns how many differences nobody can explain. */
async function report(servers: Servers, { requests, skipped, known, found: first }: Outcome, { shrink }: Options): Promise<number> {
  const deadline = performance.now() + SHRINK_MS
  const found: Found[] = []
  for (const difference of first) if (await repeated(servers, difference)) found.push(difference)
  for (const [reason, count] of known) say(`known: ${count} times: ${reason}`)
  const groups = group(found)
  for (const [name, members] of groups) say(`DIFFERENT: ${members.length} times (${members.slice(0, 4).map(({ chain }) => chain.seed).join(', ')}): ${name}`)
  for (const [name, members] of groups.slice(0, shrink)) say(`\n=== ${members.length} times: ${name}\n${await explain(servers, members, deadline)}`)
  say(`\n${requests} requests, ${skipped} of them after a difference and not counted on; ${[...known.values()].reduce((a, b) => a + b, 0)} known differences, ${found.length} unexplained of ${groups.length} kinds`)
  // As the summary of a test run ends.
  say(`ℹ tests ${requests}\nℹ pass ${requests - found.length}\nℹ fail ${found.length}`)
  return found.length
}

async function main(): Promise<boolean> {
  const { values } = parseArgs({ options: { requests: { type: 'string', default: '10000' }, seed: { type: 'string', default: '1' }, chain: { type: 'string' }, shrink: { type: 'string', default: '8' }, definitions: { type: 'string' } } })
  const options = { requests: Number(values.requests), seed: Number(values.seed), shrink: Number(values.shrink) }
  const chainSeed = values.chain === undefined ? undefined : Number(values.chain)
  const kindSeed = chainSeed === undefined ? options.seed : Math.floor(chainSeed / 1_000_000)
  const kinds = values.definitions === undefined ? liveKinds(kindSeed) : await foreignKinds(values.definitions, kindSeed, say)
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stopped.abort())
  const begin = performance.now()
  await using reference = await startControlPlane({ skipRevisions: SKIPPED_REVISIONS })
  await reference.install(manifests(kinds))
  await using ours = await openOurs(kinds, SKIPPED_REVISIONS)
  const agents = [new Agent({ keepAlive: true }), new Agent({ keepAlive: true })] as const
  const servers: Servers = { reference: { url: reference.url, pki: reference.pki, agent: agents[0] }, ours: { url: ours.server.url, pki: ours.pki, agent: agents[1] } }
  try {
    if (chainSeed !== undefined) {
      const chain = generateChain(kinds, chainSeed)
      const difference = await compareChain(servers, chain, nextId())
      say([printScenario(`s${chainSeed}`, chain), ...(difference === undefined ? ['alike'] : [`step ${difference.place} differs`, ...describe(difference)])].join('\n'))
      return difference === undefined
    }
    say(`both servers are ready after ${Math.round((performance.now() - begin) / 1000)} s`)
    const begun = performance.now()
    const outcome = await compareMany(servers, kinds, options)
    say(`seed ${options.seed}: ${Math.round((outcome.requests * 1000) / (performance.now() - begun))} requests a second to each`)
    return (await report(servers, outcome, options)) === 0 && !stopped.signal.aborted
  } finally {
    for (const agent of agents) agent.destroy()
  }
}

process.exitCode = (await main()) ? 0 : 1
