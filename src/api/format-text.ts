/**
 * Formats of times, numbers on cards and books, mail addresses and encoded bytes.
 * upstream: kube-openapi/pkg/validation/strfmt/{default,date,time,duration}.go, kube-openapi/pkg/internal/third_party/govalidator, net/mail
 */

/** A day of the calendar as `2006-01-02`. upstream: time.Parse */
export function isDate(text: string): boolean {
  const match = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text)
  if (match === null) return false
  const [year, month, day] = match.slice(1).map(Number) as [number, number, number]
  const date = new Date(0)
  date.setUTCFullYear(year, month - 1, day)
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day && month >= 1
}

const TIME_OF_DAY = /^(\d\d):(\d\d):(\d\d)(?:.\d+)?(?:z|[+-]\d\d:\d\d)$/

/** upstream: strfmt.IsDateTime: whatever stands behind a second `t` is not looked at. */
export function isDateTime(text: string): boolean {
  const [day, time] = text.toLowerCase().split('t', 2)
  if (day === undefined || time === undefined || !isDate(day)) return false
  const match = TIME_OF_DAY.exec(time)
  return match !== null && Number(match[1]) <= 23 && Number(match[2]) <= 59 && Number(match[3]) <= 59
}

const GO_DURATION = /^[+-]?(?:0|(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)$/
const LOOSE_DURATION = /(?<!\d)(\d+)\s*([A-Za-zµ]+)/g
const UNIT = /^(?:ns|nano.*|us|µs|micro.*|ms|milli.*|s|sec.*|m|min.*|hr?|hour.*|d|day.*|wk?|week.*)$/

/** A Go duration, or a number and a known unit anywhere in the text. upstream: strfmt.ParseDuration */
export function isDuration(text: string): boolean {
  if (text.length < 1000 && GO_DURATION.test(text)) return true
  let known = false
  for (const [, factor = '', unit = ''] of text.matchAll(LOOSE_DURATION)) {
    if (Number(factor) >= 2 ** 63) return false
    known ||= UNIT.test(unit.toLowerCase())
  }
  return known
}

/** Standard base64 with padding; the empty text is none. */
export function isBase64(text: string): boolean {
  return text.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(text)
}

function isIsbn10(text: string): boolean {
  const digits = text.replaceAll(/[\s-]/g, '')
  if (!/^\d{9}[\dX]$/.test(digits)) return false
  const sum = [...digits].reduce((total, char, i) => total + (i + 1) * (char === 'X' ? 10 : Number(char)), 0)
  return sum % 11 === 0
}

function isIsbn13(text: string): boolean {
  const digits = text.replaceAll(/[\s-]/g, '')
  if (!/^\d{13}$/.test(digits)) return false
  return [...digits].reduce((total, char, i) => total + (i % 2 === 0 ? 1 : 3) * Number(char), 0) % 10 === 0
}

const isIsbn = (text: string): boolean => isIsbn10(text) || isIsbn13(text)

export { isIsbn, isIsbn10, isIsbn13 }

const CARD =
  /^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|(222[1-9]|22[3-9][0-9]|2[3-6][0-9]{2}|27[01][0-9]|2720)[0-9]{12}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35\d{3})\d{11}|6[27][0-9]{14})$/

/** The number of a card of a known issuer, with a right Luhn checksum. */
export function isCreditCard(text: string): boolean {
  const digits = text.replaceAll(/\D/g, '')
  if (!CARD.test(digits)) return false
  const sum = [...digits].reverse().reduce((total, char, i) => {
    const digit = Number(char) * (i % 2 === 0 ? 1 : 2)
    return total + (digit > 9 ? digit - 9 : digit)
  }, 0)
  return sum % 10 === 0
}

const ATOM = String.raw`[^\s\x00-\x1f\x7f()<>[\]:;@\\,."]+`
const DOT_ATOM = `${ATOM}(?:\\.${ATOM})*`
const QUOTED = String.raw`"(?:[^"\\\x00-\x08\x0a-\x1f\x7f]|\\[^\x00-\x1f\x7f])*"`
const ADDRESS = `(?:${DOT_ATOM}|${QUOTED})[ \\t]*@[ \\t]*(?:${DOT_ATOM}|\\[[^\\[\\]\\\\\\s]*\\])`
const ADDR_SPEC = new RegExp(`^${ADDRESS}$`)
const DISPLAY_NAME = new RegExp(`^(?:(?:[^\\s\\x00-\\x1f\\x7f()<>[\\]:;@\\\\,"]+|${QUOTED})[ \\t]*)*$`)

/** One mail address, with or without a display name. upstream: net/mail.ParseAddress */
export function isMailAddress(text: string): boolean {
  // Longer ones exist in no mail system.
  if (text.length > 1000) return false
  const trimmed = text.replaceAll(/^[ \t]+|[ \t]+$/g, '')
  const open = trimmed.endsWith('>') ? trimmed.lastIndexOf('<') : -1
  if (open < 0) return ADDR_SPEC.test(trimmed)
  return DISPLAY_NAME.test(trimmed.slice(0, open)) && ADDR_SPEC.test(trimmed.slice(open + 1, -1).trim())
}
