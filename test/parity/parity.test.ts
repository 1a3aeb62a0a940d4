/** Our answers beside those recorded of a real kube-apiserver. */
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { deviations, exclusions } from './deviations.ts'
import { normalReference } from './normal-form.ts'
import { runScenarios } from './run.ts'
import { CHAINS, GIVEN, loadReference, loadScenarios, type Recorded, type Recording, type Scenario } from './scenarios.ts'
import { serveParity } from './serve.ts'

const PARTS = ['status', 'headers', 'body'] as const

const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

/** The parts in which two answers differ, as one readable text; empty when they are equal. */
function difference(expected: Recorded, actual: Recorded): string {
  return PARTS.filter((part) => !isDeepStrictEqual(plain(expected[part]), plain(actual[part])))
    .map((part) => `${part}\n  recorded ${JSON.stringify(expected[part])}\n  ours     ${JSON.stringify(actual[part])}`)
    .join('\n')
}

async function compare(t: TestContext, recording: Recording): Promise<void> {
  const scenarios = loadScenarios(recording.scenarios)
  const reference = loadReference(recording.reference)
  const reasonToSkip = (scenario: Scenario) => exclusions.find((exclusion) => exclusion.applies(scenario))
  const kept = scenarios.filter((scenario) => !reasonToSkip(scenario))
  await using harness = await serveParity()
  const answers = await runScenarios({ url: harness.server.url, pki: harness.pki }, kept)

  const known = deviations.filter(({ steps }) => steps.some((place) => reference.has(place.split('/')[0] as string)))
  const expected = new Set(known.flatMap(({ steps }) => steps))
  const faults: string[] = []
  let equal = 0
  for (const { id, steps } of kept) {
    for (const [i, step] of steps.entries()) {
      const place = `${id}/${i}`
      const found = difference(normalReference(reference.get(id)?.[i] as Recorded), answers.get(id)?.[i] as Recorded)
      if (found === '') equal++
      if (found !== '' && !expected.has(place)) faults.push(`${place} ${step.m} ${step.path} ${JSON.stringify({ q: step.q, h: step.h, ct: step.ct, body: step.body })}\n${found}`)
      if (found === '' && expected.has(place)) faults.push(`${place} is listed as a deviation but is equal: take it off the list`)
    }
  }

  t.diagnostic(`${equal} of ${scenarios.flatMap(({ steps }) => steps).length} requests answered alike`)
  for (const exclusion of exclusions) {
    const left = scenarios.filter((scenario) => reasonToSkip(scenario) === exclusion)
    t.diagnostic(`left out: ${left.length} scenarios with ${left.flatMap(({ steps }) => steps).length} requests: ${exclusion.reason}`)
  }
  for (const { steps, reason } of known) t.diagnostic(`different: ${steps.length} requests (${steps.join(', ')}): ${reason}`)
  assert.equal(faults.length, 0, `${faults.length} differences:\n\n${faults.join('\n\n')}`)
}

test('answers equal those of a kube-apiserver', (t) => compare(t, GIVEN))

test('answers that once differed equal those of a kube-apiserver', (t) => compare(t, CHAINS))
