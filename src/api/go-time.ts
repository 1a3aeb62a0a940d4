/**
 * Times as Go reads and writes them: RFC 3339.
 * upstream: time/format.go Parse, metav1.Time (apimachinery/pkg/apis/meta/v1/time.go)
 */
import { DecodeError } from './go-json-error.ts'

const LAYOUT = '2006-01-02T15:04:05Z07:00'
// upstream: time/format.go quote, which escapes all that is not printable ASCII, byte by byte
function quote(text: string): string {
  const bytes = [...Buffer.from(text)].map((byte) => {
    if (byte === 0x22 || byte === 0x5c) return `\\${String.fromCharCode(byte)}`
    return byte < 0x20 || byte >= 0x80 ? `\\x${byte.toString(16).padStart(2, '0')}` : String.fromCharCode(byte)
  })
  return `"${bytes.join('')}"`
}

const CANONICAL = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\dZ$/

/** A time as metav1.Time prints it: UTC, whole seconds. `now` is in milliseconds since the epoch. */
export function formatTime(now: number): string {
  return `${new Date(now).toISOString().slice(0, 19)}Z`
}

/** RFC 3339 in any zone, with or without a fraction → UTC and whole seconds. Throws DecodeError with Go's text. */
export function normalizeTime(text: string): string {
  return CANONICAL.test(text) ? text : formatTime(new TimeParser(text).parse())
}

type Element = '2006' | '01' | '02' | '15' | '04' | '05' | 'Z07:00'

/** Go's generic parser for the one layout, for its error texts. */
class TimeParser {
  private readonly text: string
  private rest: string
  constructor(text: string) {
    this.text = text
    this.rest = text
  }

  parse(): number {
    const year = this.number('2006', 4)
    this.literal('-')
    const month = this.number('01', 2)
    if (month < 1 || month > 12) this.outOfRange('month')
    this.literal('-')
    const day = this.number('02', 2)
    this.literal('T')
    const hour = /^\d(?!\d)/.test(this.rest) ? this.number('15', 1) : this.number('15', 2)
    if (hour > 23) this.outOfRange('hour')
    this.literal(':')
    const minute = this.number('04', 2)
    if (minute > 59) this.outOfRange('minute')
    this.literal(':')
    const second = this.number('05', 2)
    if (second > 59) this.outOfRange('second')
    this.rest = this.rest.replace(/^[.,]\d+/, '')
    const offset = this.zone()
    if (this.rest !== '') throw new DecodeError(`parsing time ${quote(this.text)}: extra text: ${quote(this.rest)}`)
    if (day < 1 || day > daysIn(year, month)) this.outOfRange('day')
    return calendar(year, month, day) + ((hour * 60 + minute - offset) * 60 + second) * 1000
  }

  private number(element: Element, width: number): number {
    const digits = this.rest.slice(0, width)
    if (digits.length < width || !/^\d+$/.test(digits)) this.bad(element)
    this.rest = this.rest.slice(width)
    return Number(digits)
  }

  private literal(char: string): void {
    if (!this.rest.startsWith(char)) this.bad(char)
    this.rest = this.rest.slice(1)
  }

  /** Minutes east of UTC. */
  private zone(): number {
    if (this.rest.startsWith('Z')) {
      this.rest = this.rest.slice(1)
      return 0
    }
    const match = /^([+-])(\d\d):(\d\d)/.exec(this.rest)
    if (match === null) return this.bad('Z07:00')
    const [zone, sign, hours, minutes] = match
    this.rest = this.rest.slice(zone.length)
    if (Number(hours) > 24) this.outOfRange('time zone offset hour')
    if (Number(minutes) > 60) this.outOfRange('time zone offset minute')
    return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes))
  }

  private bad(element: string): never {
    throw new DecodeError(`parsing time ${quote(this.text)} as "${LAYOUT}": cannot parse ${quote(this.rest)} as "${element}"`)
  }

  private outOfRange(what: string): never {
    throw new DecodeError(`parsing time ${quote(this.text)}: ${what} out of range`)
  }
}

// Not Date.UTC alone: it takes the years 0 to 99 for 1900 to 1999.
function calendar(year: number, month: number, day: number): number {
  const date = new Date(0)
  date.setUTCFullYear(year, month - 1, day)
  return date.getTime()
}

/** How many days a month (1 to 12) has. */
export function daysIn(year: number, month: number): number {
  return new Date(calendar(year, month + 1, 0)).getUTCDate()
}
