/**
 * The rules for names, label keys and label values, each as a function from a value to its messages (none: valid).
 * upstream: apimachinery/pkg/api/validate/content/{dns,kube,identifier}.go, apimachinery/pkg/api/validation/generic.go
 */

/** A rule for names. `prefix`: the value is a generateName, to which more will be added. */
export type NameRule = (value: string, prefix: boolean) => string[]

const DNS1123_LABEL = '[a-z0-9]([-a-z0-9]*[a-z0-9])?'
const DNS1123_SUBDOMAIN = String.raw`[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*`
const DNS1035_LABEL = '[a-z]([-a-z0-9]*[a-z0-9])?'
const QUALIFIED_NAME = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]'
const LABEL_VALUE = `(${QUALIFIED_NAME})?`

const SUBDOMAIN_TEXT = `a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '${DNS1123_SUBDOMAIN}')`
const LABEL_TEXT = `a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '${DNS1123_LABEL}')`
const DNS1035_TEXT = `a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '${DNS1035_LABEL}')`
const QUALIFIED_BODY = `must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '${QUALIFIED_NAME}')`
const QUALIFIED_TEXT = `a valid label key ${QUALIFIED_BODY} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`
const LABEL_VALUE_TEXT = `a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '${LABEL_VALUE}')`

const label = new RegExp(`^(?:${DNS1123_LABEL})$`)
const dns1035 = new RegExp(`^(?:${DNS1035_LABEL})$`)
const qualified = new RegExp(`^(?:${QUALIFIED_NAME})$`)
const labelValue = new RegExp(`^(?:${LABEL_VALUE})$`)

// Both are counted in bytes: the two packages of upstream only say so in different words.
function tooLong(value: string, max: number, unit: 'bytes' | 'characters'): string[] {
  // No string has fewer bytes than UTF-16 units.
  return value.length > max || Buffer.byteLength(value) > max ? [`must be no more than ${max} ${unit}`] : []
}

// Label by label: one expression for the whole would keep a backtracking state for each label of a hostile name.
function isSubdomain(value: string): boolean {
  return value.split('.').every((part) => label.test(part))
}

/** upstream: validation.IsDNS1123Subdomain; as the prefix of a label key content.IsDNS1123Subdomain, which says bytes */
export function subdomainErrors(value: string, unit: 'bytes' | 'characters' = 'characters'): string[] {
  const errors = tooLong(value, 253, unit)
  if (!isSubdomain(value)) errors.push(SUBDOMAIN_TEXT)
  return errors
}

/** upstream: validation.IsDNS1123Label */
export function labelErrors(value: string): string[] {
  const errors = tooLong(value, 63, 'characters')
  if (!label.test(value)) errors.push(isSubdomain(value) ? 'must not contain dots' : LABEL_TEXT)
  return errors
}

/** upstream: validation.IsDNS1035Label */
export function dns1035Errors(value: string): string[] {
  const errors = tooLong(value, 63, 'characters')
  if (!dns1035.test(value)) errors.push(DNS1035_TEXT)
  return errors
}

/** A label key, annotation key or finalizer: `[prefix/]name`. upstream: content.IsLabelKey (before 1.35 validation.IsQualifiedName) */
export function qualifiedNameErrors(value: string): string[] {
  const slash = value.indexOf('/')
  if (slash >= 0 && value.indexOf('/', slash + 1) >= 0) return [QUALIFIED_TEXT]
  const errors: string[] = []
  if (slash === 0) errors.push('prefix part must be non-empty')
  else if (slash > 0) errors.push(...subdomainErrors(value.slice(0, slash), 'bytes').map((text) => `prefix part ${text}`))
  const name = value.slice(slash + 1)
  if (name === '') errors.push('name part must be non-empty')
  else errors.push(...tooLong(name, 63, 'bytes').map((text) => `name part ${text}`))
  if (!qualified.test(name)) errors.push(`name part ${QUALIFIED_BODY}`)
  return errors
}

/** upstream: content.IsLabelValue */
export function labelValueErrors(value: string): string[] {
  const errors = tooLong(value, 63, 'bytes')
  if (!labelValue.test(value)) errors.push(LABEL_VALUE_TEXT)
  return errors
}

// The generated part begins after the dash. upstream: validation.maskTrailingDash (it does drop two characters)
function maskTrailingDash(value: string): string {
  return value.length > 1 && value.endsWith('-') ? `${value.slice(0, -2)}a` : value
}

/** Names of most kinds. upstream: validation.NameIsDNSSubdomain */
export const subdomainName: NameRule = (value, prefix) => subdomainErrors(prefix ? maskTrailingDash(value) : value)

/** Names of namespaces. upstream: validation.ValidateNamespaceName, NameIsDNSLabel */
export const labelName: NameRule = (value, prefix) => labelErrors(prefix ? maskTrailingDash(value) : value)

/** What a name must not be in order to stand in a URL. upstream: validation/path.ValidatePathSegmentName */
export const pathSegmentName: NameRule = (value, prefix) => {
  if (!prefix && (value === '.' || value === '..')) return [`may not be '${value}'`]
  return ['/', '%'].filter((char) => value.includes(char)).map((char) => `may not contain '${char}'`)
}
