/**
 * The formats of strings that validation knows; others are ignored.
 * upstream: apiextensions-apiserver/pkg/apiserver/validation/formats.go, kube-openapi/pkg/validation/strfmt/default.go
 */
import { isCidr, isHostname, isIpv4, isIpv6, isMac, isRequestUri } from './format-network.ts'
import { isBase64, isCreditCard, isDate, isDateTime, isDuration, isIsbn, isIsbn10, isIsbn13, isMailAddress } from './format-text.ts'
import { labelErrors, subdomainErrors } from './names.ts'

const matches =
  (expression: RegExp) =>
  (text: string): boolean =>
    expression.test(text)

const uuid = (version: string, variant = '[0-9a-f]'): ((text: string) => boolean) =>
  matches(new RegExp(`^[0-9a-f]{8}-?[0-9a-f]{4}-?${version}[0-9a-f]{3}-?${variant}[0-9a-f]{3}-?[0-9a-f]{12}$`, 'i'))

const BYTE = '(?:0|[1-9]\\d?|1\\d\\d?|2[0-4]\\d|25[0-5])'

const FORMATS = new Map<string, (text: string) => boolean>([
  ['bsonobjectid', matches(/^[0-9a-fA-F]{24}$/)],
  ['uri', isRequestUri],
  ['email', isMailAddress],
  ['hostname', isHostname],
  ['ipv4', isIpv4],
  ['ipv6', isIpv6],
  ['cidr', isCidr],
  ['mac', isMac],
  ['uuid', uuid('[0-9a-f]')],
  ['uuid3', uuid('3')],
  ['uuid4', uuid('4', '[89ab]')],
  ['uuid5', uuid('5', '[89ab]')],
  ['isbn', isIsbn],
  ['isbn10', isIsbn10],
  ['isbn13', isIsbn13],
  ['creditcard', isCreditCard],
  ['ssn', (text) => text.length === 11 && /^\d{3}[- ]?\d{2}[- ]?\d{4}$/.test(text)],
  ['hexcolor', matches(/^#?(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})$/)],
  ['rgbcolor', matches(new RegExp(`^rgb\\(\\s*${BYTE}\\s*,\\s*${BYTE}\\s*,\\s*${BYTE}\\s*\\)$`))],
  ['byte', isBase64],
  ['password', () => true],
  ['date', isDate],
  ['duration', isDuration],
  ['datetime', isDateTime],
  ['k8sshortname', (text) => labelErrors(text).length === 0],
  ['k8slongname', (text) => subdomainErrors(text).length === 0],
])

// Kept since 1.36, so that they take part in the check of the type.
const NUMBER_FORMATS: Record<string, readonly string[]> = { integer: ['int32', 'int64'], number: ['float', 'double'] }

/** The check of a string format, or undefined when the format is not known. Dashes in the name do not count. */
export function formatCheck(format: string): ((text: string) => boolean) | undefined {
  return FORMATS.get(format.replaceAll('-', ''))
}

/**
 * The format as validation sees it: "" for one that is not known for the type.
 * upstream: apiextensions-apiserver/pkg/apiserver/validation/formats.go StripUnsupportedFormatsPostProcessorForVersion
 */
export function supportedFormat(format: string, type: string | undefined): string {
  if (type === undefined || type === '' || type === 'string') return formatCheck(format) === undefined ? '' : format
  return (NUMBER_FORMATS[type] ?? []).includes(format) ? format : ''
}
