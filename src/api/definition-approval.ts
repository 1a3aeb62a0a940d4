/** Groups of the Kubernetes community need an approval. upstream: apiextensions-apiserver/pkg/apihelpers/helpers.go */
import { parseGoUrl } from './go-url.ts'
import { fieldError, type FieldError } from './status.ts'

const ANNOTATION = 'api-approved.kubernetes.io'
const SEE = 'see https://github.com/kubernetes/enhancements/pull/1111'

/** Errors of the approval annotation of a definition in a protected group. */
export function approvalErrors(group: string, annotations: { readonly [key: string]: string }): FieldError[] {
  if (!/(?:^|\.)(?:k8s|kubernetes)\.io$/.test(group)) return []
  const path = `metadata.annotations[${ANNOTATION}]`
  const approval = Object.hasOwn(annotations, ANNOTATION) ? (annotations[ANNOTATION] as string) : ''
  if (approval === '') return [fieldError('FieldValueRequired', path, '', `protected groups must have approval annotation "${ANNOTATION}", ${SEE}`)]
  if (approval.startsWith('unapproved') || isAbsolute(approval)) return []
  const detail = `protected groups must have approval annotation "${ANNOTATION}" with either a URL or a reason starting with "unapproved", ${SEE}`
  return [fieldError('FieldValueInvalid', path, approval, detail)]
}

function isAbsolute(text: string): boolean {
  const url = parseGoUrl(text)
  return typeof url !== 'string' && url.scheme !== '' && url.host !== ''
}
