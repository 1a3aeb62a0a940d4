/** Manifests of definitions before both judges: a real kube-apiserver, which is asked without a consequence, and our check. */
import { isDeepStrictEqual } from 'node:util'
import { checkDefinition } from '../../../src/api/definition-check.ts'
import type { BodyMediaType } from '../../../src/api/decode-object.ts'
import type { FieldValidation } from '../../../src/api/definition-decode.ts'
import type { Status, StatusCause } from '../../../src/api/status.ts'
import { normalAnswer, SUCCESS, type Answer } from '../../definitions/answers.ts'
import { sendStep, type Target } from '../send.ts'

/** A manifest, and what it is called. */
export interface Asked {
  readonly name: string
  readonly text: string
  readonly mediaType: BodyMediaType
  readonly fieldValidation: FieldValidation
}

/** What the judges said: alike, in another way for a reason that is known, or different. */
export type Verdict = { readonly kind: 'alike' } | { readonly kind: 'known'; readonly reason: string } | { readonly kind: 'different'; readonly text: string }

const PATH = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const RETIRED = 'apiextensions.k8s.io/v1beta1'

/** What the kube-apiserver answers to the create of a manifest, which is a dry run; undefined when it drops the connection, since its handler panics. */
export async function askReference(target: Target, { text, mediaType, fieldValidation }: Asked): Promise<Answer | undefined> {
  const step = { m: 'POST', path: PATH, q: { dryRun: 'All', fieldValidation }, body: text, ct: mediaType }
  const answer = await sendStep(target, step, {}).catch(() => undefined)
  if (answer === undefined) return undefined
  const status = answer.status === 201 ? SUCCESS : (JSON.parse(answer.text) as Status)
  const warnings = answer.headers.filter(([name]) => name === 'warning').map(([, value]) => unquoted(value))
  return { status, ...(warnings.length > 0 ? { warnings } : {}) }
}

/** `299 - "text"`, of which Node takes the bytes for Latin-1. */
function unquoted(header: string): string {
  const text = Buffer.from(header, 'latin1').toString('utf8')
  return text.slice(text.indexOf('"') + 1, -1).replace(/\\(.)/g, '$1')
}

const OF_TYPES = /compilation failed|must evaluate to a/
const OF_COSTS = /estimated rule cost|estimated messageExpression cost/

/** Both verdicts on a manifest. */
export async function compareDefinition(target: Target, asked: Asked): Promise<Verdict> {
  const expected = await askReference(target, asked)
  if (expected === undefined) return { kind: 'known', reason: 'kube-apiserver panics: selectable fields of a schema that cannot be structural' }
  const { status, warnings, refused } = checkDefinition(Buffer.from(asked.text), asked.mediaType, asked.fieldValidation)
  const actual = { status: status.status === 'Success' ? SUCCESS : status, warnings }
  const ofCel = (expected.status.details?.causes ?? []).filter(({ message = '' }) => OF_TYPES.test(message) || OF_COSTS.test(message))
  if (ofCel.length === 0) {
    if (refused.length === 0 && isDeepStrictEqual(plain(normalAnswer(expected)), plain(normalAnswer(actual)))) return { kind: 'alike' }
    if (asked.text.includes(RETIRED)) return { kind: 'known', reason: `a manifest of ${RETIRED} is refused in other words when it is also malformed` }
    return { kind: 'different', text: describe(asked, expected, actual, refused.map(({ field, text }) => `${field}: ${text}`)) }
  }
  // The rest must be the same.
  const rest = causes(expected).filter((cause) => !ofCel.includes(cause))
  const ours = causes(actual).filter(({ message = '' }) => !OF_TYPES.test(message))
  const same = isDeepStrictEqual(new Set(rest.map(lineOf)), new Set(ours.map(lineOf)))
  if (!same) return { kind: 'different', text: describe(asked, expected, actual, []) }
  if (ofCel.every(({ message = '' }) => OF_COSTS.test(message))) return { kind: 'known', reason: 'kube-apiserver refuses a rule for its estimated cost, ours stops it when it runs' }
  if (refused.length > 0 || ours.length < causes(actual).length) return { kind: 'known', reason: 'a rule that does not compile is refused in other words' }
  return { kind: 'known', reason: 'kube-apiserver refuses a rule for the types in it' }
}

const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value))
const causes = ({ status }: Answer): readonly StatusCause[] => status.details?.causes ?? []
const lineOf = ({ field, reason, message }: StatusCause): string => `${field}: ${reason}: ${message}`

// The lines of either answer that the other has not.
function describe({ name, text, fieldValidation }: Asked, expected: Answer, actual: Answer, refused: readonly string[]): string {
  const [reference, ours] = [linesOf(expected), linesOf(actual)]
  const only = (lines: readonly string[], others: readonly string[], who: string) => lines.filter((line) => !others.includes(line)).map((line) => `    ${who} ${line}`)
  return [`${name}, ${fieldValidation}:`, ...only(reference, ours, 'reference'), ...only(ours, reference, 'ours     '), ...refused.map((line) => `    refused   ${line}`), text.slice(0, 2000)].join('\n')
}

function linesOf(answer: Answer): string[] {
  const { status, warnings = [] } = answer
  const lines = causes(answer).map(lineOf)
  return [`${status.status} ${status.code ?? ''} ${lines.length > 0 ? '' : (status.message ?? '')}`, ...lines, ...warnings.map((text) => `warning: ${text}`)]
}
