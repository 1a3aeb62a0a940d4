/** Manifests of definitions before both judges: a real kube-apiserver, which is asked without a consequence, and our check. */
import { isDeepStrictEqual } from 'node:util'
import type { FieldValidation } from '../../../src/api/definition-decode.ts'
import type { Status } from '../../../src/api/status.ts'
import { normalAnswer, ourAnswer, SUCCESS, type Answer, type Manifest } from '../../definitions/answers.ts'
import { sendStep, type Target } from '../send.ts'

/** Two answers to a manifest that are not alike. */
export interface DefinitionDifference {
  readonly manifest: Manifest
  readonly fieldValidation: FieldValidation
  readonly expected: Answer
  readonly actual: Answer
}

const PATH = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const CONCURRENCY = 8

/** What the kube-apiserver answers to the create of a manifest, which is a dry run. */
export async function askReference(target: Target, { text }: Manifest, fieldValidation: FieldValidation): Promise<Answer> {
  const step = { m: 'POST', path: PATH, q: { dryRun: 'All', fieldValidation }, body: text, ct: 'application/yaml' }
  const answer = await sendStep(target, step, {})
  const status = answer.status === 201 ? SUCCESS : (JSON.parse(answer.text) as Status)
  const warnings = answer.headers.filter(([name]) => name === 'warning').map(([, value]) => unquoted(value))
  return { status, ...(warnings.length > 0 ? { warnings } : {}) }
}

/** `299 - "text"` */
function unquoted(header: string): string {
  return header.slice(header.indexOf('"') + 1, -1).replace(/\\(.)/g, '$1')
}

/** The differences, in the order of the manifests. */
export async function compareDefinitions(target: Target, manifests: readonly Manifest[]): Promise<DefinitionDifference[]> {
  const work = manifests.flatMap((manifest) => (['Strict', 'Warn'] as const).map((fieldValidation) => ({ manifest, fieldValidation })))
  const found: (DefinitionDifference | undefined)[] = []
  let next = 0
  const compareNext = async () => {
    for (let i = next++; i < work.length; i = next++) {
      const { manifest, fieldValidation } = work[i] as (typeof work)[number]
      const expected = await askReference(target, manifest, fieldValidation)
      const actual = ourAnswer(manifest, fieldValidation)
      if (!isDeepStrictEqual(plain(normalAnswer(expected)), plain(normalAnswer(actual)))) found[i] = { manifest, fieldValidation, expected, actual }
    }
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, compareNext))
  return found.filter((difference) => difference !== undefined)
}

const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

/** For a person: the lines of either answer that the other has not. */
export function describeDifference({ manifest, fieldValidation, expected, actual }: DefinitionDifference): string {
  const [reference, ours] = [linesOf(expected), linesOf(actual)]
  const only = (lines: readonly string[], others: readonly string[], who: string) => lines.filter((line) => !others.includes(line)).map((line) => `    ${who} ${line}`)
  return [`${manifest.file} ${manifest.place} (${manifest.name}), ${fieldValidation}:`, ...only(reference, ours, 'reference'), ...only(ours, reference, 'ours     ')].join('\n')
}

function linesOf({ status, warnings = [] }: Answer): string[] {
  const causes = (status.details?.causes ?? []).map(({ field, reason, message }) => `${field}: ${reason}: ${message}`)
  const told = warnings.map((text) => `warning: ${text}`)
  return [`${status.status} ${status.code ?? ''} ${causes.length > 0 ? '' : (status.message ?? '')}`, ...causes, ...told]
}
