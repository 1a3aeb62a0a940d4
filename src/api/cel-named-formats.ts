/** Formats by name, which say what is wrong with a text. upstream: apiserver/pkg/cel/library/format.go */
import { declare, member, overload, type Declaration } from './cel-function.ts'
import { meter, PARTS } from './cel-meter.ts'
import { opaqueType } from './cel-opaque.ts'
import { none, optionalOf } from './cel-optional.ts'
import { JoinedList } from './cel-values.ts'
import { formatCheck } from './formats.ts'
import { dns1035Errors, labelName, labelValueErrors, qualifiedNameErrors, subdomainName } from './names.ts'
import { requestUriFault } from './uri.ts'
import type { Value } from './cel-function.ts'

interface NamedFormat {
  readonly name: string
  errors(text: string): string[]
}

/** The type of formats. */
export const formatType = opaqueType<NamedFormat>('kubernetes.NamedFormat', (a, b) => a.name === b.name)
const FORMAT = formatType.desc.typeName

const checked = (format: string, fault: string) => (text: string): string[] => (formatCheck(format)?.(text) === true ? [] : [fault])

// upstream: validation.maskTrailingDash (it does drop two characters)
const dns1035Prefix = (text: string): string[] => dns1035Errors(text.length > 1 && text.endsWith('-') ? `${text.slice(0, -2)}a` : text)

function uriErrors(text: string): string[] {
  const fault = requestUriFault(text)
  return fault === undefined ? [] : [fault]
}

const FORMATS: readonly (readonly [string, string, (text: string) => string[]])[] = [
  ['dns1123Label', 'DNS1123Label', (text) => labelName(text, false)],
  ['dns1123Subdomain', 'DNS1123Subdomain', (text) => subdomainName(text, false)],
  ['dns1035Label', 'DNS1035Label', dns1035Errors],
  ['qualifiedName', 'QualifiedName', qualifiedNameErrors],
  ['dns1123LabelPrefix', 'DNS1123LabelPrefix', (text) => labelName(text, true)],
  ['dns1123SubdomainPrefix', 'DNS1123SubdomainPrefix', (text) => subdomainName(text, true)],
  ['dns1035LabelPrefix', 'DNS1035LabelPrefix', dns1035Prefix],
  ['labelValue', 'LabelValue', labelValueErrors],
  ['uri', 'URI', uriErrors],
  ['uuid', 'uuid', checked('uuid', 'does not match the UUID format')],
  ['byte', 'byte', checked('byte', 'invalid base64')],
  ['date', 'date', checked('date', 'invalid date')],
  ['datetime', 'datetime', checked('datetime', 'invalid datetime')],
]

const formats = new Map(FORMATS.map(([key, name, errors]) => [key, formatType.wrap({ name, errors })]))

function validate(format: unknown, text: string): unknown {
  // the expressions of the formats look at a character several times
  meter.charge(PARTS + text.length)
  const errors = formatType.unwrap(format).errors(text)
  return errors.length === 0 ? none() : optionalOf(new JoinedList(errors) as unknown as Value)
}

function named(name: string): unknown {
  const format = formats.get(name)
  return format === undefined ? none() : optionalOf(format)
}

/** `format.<name>()`, `format.named(name)` and `validate`. */
export const namedFormatFunctions: Declaration[] = [
  ...[...formats].map(([key, format]) => declare(`format.${key}`, [overload([], () => format)])),
  declare('format.named', [overload(['string'], named)]),
  declare('validate', [member([FORMAT, 'string'], validate)]),
]
