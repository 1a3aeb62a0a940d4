import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { checkDefinition } from './definition-check.ts'
import { printDefinition } from './definition-print.ts'
import { readDefinition } from './definition.ts'
import type { FieldValidation } from './definition-decode.ts'
import type { Status } from './status.ts'

/**
 * Manifests of test/definitions, each with what kube-apiserver 1.36.3's own code answers to its create under fieldValidation Strict:
 * `name.yaml` holds the documents, `name.json` the answers in their order; `decoding.warn.json` those under fieldValidation Warn.
 */
const FOLDER = new URL('../../test/definitions/', import.meta.url)

interface Answer {
  readonly status: Status
  readonly warnings?: readonly string[]
}

const read = (file: string): string => readFileSync(new URL(file, FOLDER), 'utf8')

// Go's maps have no order, and nor have errors and warnings that come from walking one.
function normalized({ status, warnings = [] }: Answer): unknown {
  if (status.code !== 422) return { status, warnings: [...warnings].sort() }
  const { message = '', details, ...rest } = status
  const causes = [...(details?.causes ?? [])].sort((a, b) => `${a.field} ${a.message}`.localeCompare(`${b.field} ${b.message}`))
  const [lead] = message.split(' is invalid')
  return { ...rest, lead, characters: message.length, details: { ...details, causes }, warnings: [...warnings].sort() }
}

function compare(file: string, answersFile: string, fieldValidation: FieldValidation): void {
  const documents = read(file).split(/^---\n/m)
  const answers = JSON.parse(read(answersFile)) as Answer[]
  for (const [i, document] of documents.entries()) {
    test(`${fieldValidation} ${file} ${i}: ${/^# (.*)/.exec(document)?.[1]}`, () => {
      const { status, warnings, refused, definition } = checkDefinition(Buffer.from(document), 'application/yaml', fieldValidation)
      const expected = normalized(answers[i] ?? assert.fail('no answer'))
      assert.deepEqual(normalized({ status: status.status === 'Success' ? { metadata: {}, status: 'Success' } as Status : status, warnings }), expected)
      assert.deepEqual(refused, [])
      if (definition !== undefined) assert.deepEqual(readDefinition(printDefinition(definition)), definition)
    })
  }
}

const files = readdirSync(FOLDER).filter((name) => name.endsWith('.yaml') && name !== 'refused-rules.yaml')
for (const file of files) compare(file, file.replace('.yaml', '.json'), 'Strict')
compare('decoding.yaml', 'decoding.warn.json', 'Warn')

test('rules that do not compile are refused here at the place where upstream refuses them', () => {
  const answers = JSON.parse(read('refused-rules.json')) as Answer[]
  for (const [i, document] of read('refused-rules.yaml').split(/^---\n/m).entries()) {
    const { status, refused } = checkDefinition(Buffer.from(document), 'application/yaml', 'Strict')
    assert.equal(status.status, 'Success')
    const [place] = answers[i]?.status.details?.causes ?? []
    assert.deepEqual(refused.map(({ field }) => field), [place?.field?.replace('.messageExpression', '.rule')])
  }
})

test('what nests without end is refused', () => {
  const nested = (depth: number): string => `${'{"type":"object","properties":{"a":'.repeat(depth)}{}${'}}'.repeat(depth)}`
  const spec = (depth: number): string => `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{},"spec":{"versions":[{"schema":{"openAPIV3Schema":${nested(depth)}}}]}}`
  for (const depth of [100, 1000, 4000, 100_000]) assert.equal(checkDefinition(Buffer.from(spec(depth)), 'application/json', 'Strict').status.status, 'Failure')
})
