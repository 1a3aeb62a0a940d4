import assert from 'node:assert/strict'
import { test } from 'node:test'
import { COSTS, manifestFiles, normalAnswer, ourAnswer, readAnswers, readManifests, REFUSED_RULES } from '../../test/definitions/answers.ts'
import { checkDefinition } from './definition-check.ts'
import type { FieldValidation } from './definition-decode.ts'
import { printDefinition } from './definition-print.ts'
import { readDefinition } from './definition.ts'

/**
 * Manifests of test/definitions, each with what kube-apiserver 1.36.3 answers to its create under fieldValidation Strict:
 * `name.yaml` holds the documents, `name.json` the answers in their order; `decoding.warn.json` those under fieldValidation Warn.
 */
function compare(file: string, answersFile: string, fieldValidation: FieldValidation): void {
  const answers = readAnswers(answersFile)
  for (const manifest of readManifests(file)) {
    test(`${fieldValidation} ${file} ${manifest.place}: ${manifest.name}`, () => {
      const expected = normalAnswer(answers[manifest.place] ?? assert.fail('no answer'))
      assert.deepEqual(normalAnswer(ourAnswer(manifest, fieldValidation)), expected)
      const { refused, definition } = checkDefinition(Buffer.from(manifest.text), 'application/yaml', fieldValidation)
      assert.deepEqual(refused, [])
      if (definition !== undefined) assert.deepEqual(readDefinition(printDefinition(definition)), definition)
    })
  }
}

for (const file of manifestFiles) if (file !== REFUSED_RULES && file !== COSTS) compare(file, file.replace('.yaml', '.json'), 'Strict')
compare('decoding.yaml', 'decoding.warn.json', 'Warn')

test('what is refused upstream for the estimated cost of its rules, and for nothing else, is taken here', () => {
  const answers = readAnswers(COSTS.replace('.yaml', '.json'))
  for (const manifest of readManifests(COSTS)) {
    const causes = answers[manifest.place]?.status.details?.causes ?? []
    assert.ok(causes.every(({ message = '' }) => message.startsWith('Forbidden: ') && message.includes('estimated ')), manifest.name)
    assert.equal(ourAnswer(manifest, 'Strict').status.status, 'Success')
  }
})

test('rules that do not compile are refused at the same place, in the words of upstream but for those of its parser', () => {
  const answers = readAnswers('refused-rules.json')
  const upToSyntax = (message = ''): string => message.replace(/ERROR: <input>:\d+:\d+: Syntax error.*/s, 'ERROR: Syntax error')
  for (const { text, place: at } of readManifests(REFUSED_RULES)) {
    const { status, refused } = checkDefinition(Buffer.from(text), 'application/yaml', 'Strict')
    assert.deepEqual(refused, [])
    const [expected, actual] = [answers[at]?.status, status].map((one) => one?.details?.causes?.map(({ message, ...cause }) => ({ ...cause, message: upToSyntax(message) })))
    assert.deepEqual(actual, expected)
  }
})

test('a default is refused for its own rule that does not compile, and an old value is unknown to such a rule', () => {
  const spec = (rule: object, more: object = {}): string => JSON.stringify({
    apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition', metadata: { name: 'widgets.example.com' },
    spec: {
      group: 'example.com', scope: 'Namespaced', names: { plural: 'widgets', kind: 'Widget' },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object', properties: { spec: { type: 'object', properties: { a: { type: 'string' } }, 'x-kubernetes-validations': [rule], ...more } } } } }],
    },
  })
  const causes = (manifest: string) => checkDefinition(Buffer.from(manifest), 'application/json', 'Strict').status.details?.causes?.map(({ field, message }) => [field?.split('[spec].')[1], message])
  const text = "compilation failed: ERROR: <input>:1:5: undefined field 'b'\n | self.b == 1\n | ....^"
  assert.deepEqual(causes(spec({ rule: 'self.b == 1' }, { default: { a: 'x' } })), [['default', `Invalid value: "object": rule compile error: ${text}`]])
  const shown = '{"Rule":"self.b == 1","Message":"","MessageExpression":"","Reason":null,"FieldPath":"","OptionalOldSelf":true}'
  assert.deepEqual(causes(spec({ rule: 'self.b == 1', optionalOldSelf: true })), [
    ['x-kubernetes-validations[0].rule', `Invalid value: ${shown}: ${text}`],
    ['x-kubernetes-validations[0].optionalOldSelf', 'Invalid value: true: may not be set if oldSelf is not used in rule'],
  ])
})

test('what nests without end is refused', () => {
  const nested = (depth: number): string => `${'{"type":"object","properties":{"a":'.repeat(depth)}{}${'}}'.repeat(depth)}`
  const spec = (depth: number): string => `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{},"spec":{"versions":[{"schema":{"openAPIV3Schema":${nested(depth)}}}]}}`
  for (const depth of [100, 1000, 4000, 100_000]) assert.equal(checkDefinition(Buffer.from(spec(depth)), 'application/json', 'Strict').status.status, 'Failure')
})
