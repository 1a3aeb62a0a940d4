/**
 * anyOf, oneOf, allOf and not. The errors of the branch with the most matched checks are shown beside the one of the composition.
 * upstream: kube-openapi/pkg/validation/validate/schema_props.go schemaPropsValidator.Validate
 */
import type { Json } from './object.ts'
import type { SchemaNode } from './schema-node.ts'
import { fieldError, type FieldError } from './status.ts'
import type { Validation } from './validate.ts'

/** What a branch says about a value. */
interface Verdict {
  readonly errors: FieldError[]
  readonly count: number
}

/** Validates the compositions of a node; returns the matched checks. Nothing is ratcheted inside of them: upstream hands no options down. */
export function validateComposition(validation: Validation, node: SchemaNode, value: Json, path: string): number {
  const judge = (branch: SchemaNode): Verdict => {
    const before = validation.errors
    validation.errors = []
    const count = validation.branch(branch, value, path, undefined)
    const verdict = { errors: validation.errors, count }
    validation.errors = before
    return verdict
  }
  const complain = (text: string): void => {
    validation.errors.push(fieldError('FieldValueInvalid', validation.field(''), '', `"${path}" must ${text}`))
  }
  const merge = (verdict: Verdict | undefined): number => {
    if (verdict === undefined) return 0
    for (const error of verdict.errors) validation.errors.push(error)
    return verdict.count
  }
  let count = 1
  if (node.anyOf.length > 0) count += merge(anyOf(node.anyOf, judge, complain))
  if (node.oneOf.length > 0) count += merge(oneOf(node.oneOf, judge, complain))
  if (node.allOf.length > 0) {
    const verdicts = node.allOf.map(judge)
    for (const verdict of verdicts) count += merge(verdict)
    const valid = verdicts.filter((verdict) => verdict.errors.length === 0).length
    if (valid < verdicts.length) complain(`validate all the schemas (allOf)${valid === 0 ? '. None validated' : ''}`)
  }
  if (node.not !== undefined && judge(node.not).errors.length === 0) complain('not validate the schema (not)')
  return count
}

type Judge = (branch: SchemaNode) => Verdict
type Complain = (text: string) => void

function best(verdicts: Verdict[]): Verdict | undefined {
  let chosen: Verdict | undefined
  for (const verdict of verdicts) if (chosen === undefined || verdict.count > chosen.count) chosen = verdict
  return chosen
}

function anyOf(branches: readonly SchemaNode[], judge: Judge, complain: Complain): Verdict | undefined {
  const verdicts: Verdict[] = []
  for (const branch of branches) {
    const verdict = judge(branch)
    if (verdict.errors.length === 0) return verdict
    verdicts.push(verdict)
  }
  complain('validate at least one schema (anyOf)')
  return best(verdicts)
}

function oneOf(branches: readonly SchemaNode[], judge: Judge, complain: Complain): Verdict | undefined {
  const verdicts = branches.map(judge)
  const valid = verdicts.filter((verdict) => verdict.errors.length === 0)
  if (valid.length === 1) return valid[0]
  complain(`validate one and only one schema (oneOf). ${valid.length === 0 ? 'Found none valid' : `Found ${valid.length} valid alternatives`}`)
  return valid.length === 0 ? best(verdicts) : undefined
}
