/** Definitions, and objects of them, before a real kube-apiserver and before ours: the same verdicts, texts, warnings and answers. */
import assert from 'node:assert/strict'
import { Agent } from 'node:https'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { encodeJson } from '../../../src/api/codec.ts'
import { printDefinition } from '../../../src/api/definition-print.ts'
import { isObject, type JsonObject } from '../../../src/api/object.ts'
import { decodeYaml } from '../../../src/api/yaml.ts'
import { resources } from '../../../src/resources/index.ts'
import { startControlPlane, type ControlPlane } from '../../control-plane/control-plane.ts'
import { COSTS, manifestFiles, readManifests, REFUSED_RULES } from '../../definitions/answers.ts'
import type { Harness } from '../../harness.ts'
import { acceptedDefinitions } from './accepted-definitions.ts'
import { printScenario } from './chain.ts'
import { askReference, compareDefinition, type Asked, type Verdict } from './compare-definitions.ts'
import { compareChain, describe as describeAnswers, type Servers } from './compare.ts'
import { differences, documentsOf, sharedDocuments, type Shared } from './compare-documents.ts'
import { generateObjectChain } from './generate-object-chain.ts'
import { knownDifferences } from './known-differences.ts'
import { mutateDefinition } from './mutate-definition.ts'
import { openOurs } from './ours.ts'
import { Random } from './random.ts'

const SEED = 1
const MUTATED = 5000
const CHAINS = 500
const CONCURRENCY = 8
const SHOWN = 8
const PUBLISHED_TRIES = 60
const SKIPPED_REVISIONS = 20_000

const accepted = acceptedDefinitions()
const agents = [new Agent({ keepAlive: true }), new Agent({ keepAlive: true })] as const
const stack = new AsyncDisposableStack()
let reference: ControlPlane
let ours: Harness

before(async () => {
  reference = stack.use(await startControlPlane({ skipRevisions: SKIPPED_REVISIONS }))
  await reference.install(accepted.map(({ manifest }) => manifest))
  ours = stack.use(await openOurs(accepted.map(({ definition }) => ({ definition, weight: 1, samples: new Map() })), SKIPPED_REVISIONS))
})

after(async () => {
  for (const agent of agents) agent.destroy()
  await stack.disposeAsync()
})

async function inParallel(count: number, work: (i: number) => Promise<void>): Promise<void> {
  let next = 0
  const worker = async () => {
    for (let i = next++; i < count; i = next++) await work(i)
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, worker))
}

/** All verdicts must be alike, or differ for a reason that is known, which is printed with how often it was met. */
async function judge(asked: readonly Asked[], say: (text: string) => void): Promise<void> {
  const verdicts: Verdict[] = []
  const target = { url: reference.url, pki: reference.pki, agent: agents[0] }
  await inParallel(asked.length, async (i) => void (verdicts[i] = await compareDefinition(target, asked[i] as Asked)))
  const known = Map.groupBy(verdicts.filter((verdict) => verdict.kind === 'known'), ({ reason }) => reason)
  for (const [reason, { length }] of known) say(`known: ${length} times: ${reason}`)
  const different = verdicts.filter((verdict) => verdict.kind === 'different')
  assert.equal(different.length, 0, `${different.length} of ${asked.length}\n${different.slice(0, SHOWN).map(({ text }) => text).join('\n')}`)
}

test('manifests written to hit every rule', async (t) => {
  const asked = manifestFiles.flatMap(readManifests).flatMap(({ file, place, name, text }) =>
    (['Strict', 'Warn'] as const).map((fieldValidation) => ({ name: `${file} ${place} (${name})`, text, mediaType: 'application/yaml' as const, fieldValidation })),
  )
  await judge(asked, (text) => t.diagnostic(text))
})

test('the same manifests with random changes', async (t) => {
  const manifests = manifestFiles.filter((file) => file !== REFUSED_RULES && file !== COSTS).flatMap(readManifests).flatMap(({ text }) => manifestOf(text))
  const random = new Random(SEED)
  const asked = Array.from({ length: MUTATED }, (_, i) => {
    const changed = mutateDefinition(random.pick(manifests), random, random.chance(0.5) ? 1 : 1 + random.below(4))
    return { name: `changed ${i}`, text: encodeJson(changed), mediaType: 'application/json' as const, fieldValidation: random.chance(0.7) ? ('Warn' as const) : ('Strict' as const) }
  })
  await judge(asked, (text) => t.diagnostic(text))
})

// How a number was written that is beyond int64 is lost when it is read; that one is left out.
function manifestOf(text: string): JsonObject[] {
  if (text.includes('9223372036854775808')) return []
  try {
    const { value } = decodeYaml(text)
    return isObject(value) && isObject(value.spec) && value.apiVersion === 'apiextensions.k8s.io/v1' && value.kind === 'CustomResourceDefinition' ? [value] : []
  } catch {
    return []
  }
}

test('definitions as ours prints them', async () => {
  const printed = [...resources.map(({ definition }) => definition), ...accepted.map(({ definition }) => definition)].map((definition) => encodeJson(printDefinition(definition)))
  const target = { url: reference.url, pki: reference.pki, agent: agents[0] }
  await inParallel(printed.length, async (i) => {
    const text = printed[i] as string
    // Those that are installed are there already, which is said when all else is well.
    const answer = await askReference(target, { name: '', text, mediaType: 'application/json', fieldValidation: 'Strict' })
    const { status, reason, message } = answer?.status ?? assert.fail('no answer')
    assert.ok(status === 'Success' || reason === 'AlreadyExists', `${message}\n${text}`)
  })
})

test('discovery and OpenAPI of every definition that is taken', async () => {
  const [theirs, own] = [{ url: reference.url, pki: reference.pki, agent: agents[0] }, { url: ours.server.url, pki: ours.pki, agent: agents[1] }]
  const [expected, actual] = await Promise.all([published(), sharedDocuments(own)])
  const found: string[] = []
  for (const { name, definition } of accepted) {
    const [reference, published] = await Promise.all([documentsOf(theirs, expected, definition), documentsOf(own, actual, definition)])
    for (const [document, value] of Object.entries(reference)) found.push(...differences(value, published[document]).map((line) => `${name}: ${document}: ${line}`))
  }
  assert.equal(found.length, 0, `${found.length}\n${found.slice(0, SHOWN).join('\n')}`)
})

// A kube-apiserver publishes definitions some time after it serves them.
async function published(): Promise<Shared> {
  const wanted = accepted.map(({ definition: { group } }) => `/apis/${group}/`)
  for (let tries = 0; ; tries++) {
    const shared = await sharedDocuments({ url: reference.url, pki: reference.pki, agent: agents[0] })
    const paths = Object.keys(shared.v2.paths ?? {})
    if (tries === PUBLISHED_TRIES || wanted.every((path) => paths.some((one) => one.startsWith(path) && one !== path))) return shared
    await sleep(1000)
  }
}

test('objects of every definition that is taken', async (t) => {
  const servers: Servers = { reference: { url: reference.url, pki: reference.pki, agent: agents[0] }, ours: { url: ours.server.url, pki: ours.pki, agent: agents[1] } }
  const known = new Map<string, number>()
  const different: string[] = []
  await inParallel(CHAINS, async (i) => {
    const { name, definition } = accepted[i % accepted.length] as (typeof accepted)[number]
    const chain = generateObjectChain(definition, SEED * 1_000_000 + i)
    const difference = await compareChain(servers, chain, `o${i}`)
    if (difference === undefined) return
    const reason = knownDifferences.find((one) => one.applies(difference))?.reason
    if (reason !== undefined) return void known.set(reason, (known.get(reason) ?? 0) + 1)
    // A second may begin between two answers.
    const again = await compareChain(servers, chain, `r${i}`)
    if (again !== undefined) different.push([name, printScenario(`s${i}`, { ...chain, steps: chain.steps.slice(0, again.place + 1) }), ...describeAnswers(again)].join('\n'))
  })
  for (const [reason, count] of known) t.diagnostic(`known: ${count} times: ${reason}`)
  assert.equal(different.length, 0, `${different.length} of ${CHAINS}\n${different.slice(0, SHOWN).join('\n\n')}`)
})

test('very many errors and warnings of one object', async () => {
  const servers: Servers = { reference: { url: reference.url, pki: reference.pki, agent: agents[0] }, ours: { url: ours.server.url, pki: ours.pki, agent: agents[1] } }
  const { definition } = accepted.find(({ name }) => name.includes('a list of lists of lists')) ?? assert.fail('there is no such definition')
  const path = `/apis/${definition.group}/v1/namespaces/\${ID}/widgets`
  const object = (name: string, spec: JsonObject, labels: JsonObject = {}): JsonObject => ({ apiVersion: `${definition.group}/v1`, kind: 'Widget', metadata: { name, labels }, spec })
  const numbered = (count: number, prefix: string): JsonObject => Object.fromEntries(Array.from({ length: count }, (_, i) => [`${prefix}${i}`, '_']))
  const lists = (count: number): JsonObject => ({ a: [Array.from({ length: count }, (_, i) => [`z${i}`, 'x', 'y', 'w'])] })
  const steps = [
    ...[2, 50, 1500].map((count) => ({ m: 'POST', path, json: object(`a${count}`, lists(count)) })),
    ...['Strict', 'Warn'].map((mode) => ({ m: 'POST', path, q: [['fieldValidation', mode]] as const, json: object(`b-${mode.toLowerCase()}`, numbered(300, 'u')) })),
    { m: 'POST', path, json: object('c', { a: 5 }, numbered(100, '-')) },
  ]
  const difference = await compareChain(servers, { seed: 0, steps }, 'many')
  assert.equal(difference, undefined, difference && describeAnswers(difference).slice(0, SHOWN).join('\n'))
})
