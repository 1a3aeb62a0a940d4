/**
 * The syntax of label keys and label values, with upstream's texts.
 * upstream: apimachinery/pkg/api/validate/content/kube.go: IsLabelKey, IsLabelValue
 */
const NAME = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/
const SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/

const NAME_TEXT =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character " +
  "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
const SUBDOMAIN_TEXT =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character " +
  "(e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
const VALUE_TEXT =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character " +
  "(e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"

/** What is wrong with a label key (`[prefix/]name`); empty when it is valid. */
export function labelKeyErrors(key: string): string[] {
  const parts = key.split('/')
  if (parts.length > 2) return [`a valid label key ${NAME_TEXT} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`]
  const errors: string[] = []
  const name = parts.at(-1) ?? ''
  if (parts.length === 2) errors.push(...prefixErrors(parts[0] ?? ''))
  if (name === '') errors.push('name part must be non-empty')
  else if (Buffer.byteLength(name) > 63) errors.push('name part must be no more than 63 bytes')
  if (!NAME.test(name)) errors.push(`name part ${NAME_TEXT}`)
  return errors
}

function prefixErrors(prefix: string): string[] {
  if (prefix === '') return ['prefix part must be non-empty']
  const errors: string[] = []
  if (Buffer.byteLength(prefix) > 253) errors.push('prefix part must be no more than 253 bytes')
  if (!SUBDOMAIN.test(prefix)) errors.push(`prefix part ${SUBDOMAIN_TEXT}`)
  return errors
}

/** What is wrong with a label value; empty when it is valid. */
export function labelValueErrors(value: string): string[] {
  const errors: string[] = []
  if (Buffer.byteLength(value) > 63) errors.push('must be no more than 63 bytes')
  if (value !== '' && !NAME.test(value)) errors.push(VALUE_TEXT)
  return errors
}
