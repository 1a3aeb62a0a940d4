/**
 * Timestamps and durations. A timestamp remembers the offset it was written with, as Go's time does: only its text shows it.
 * upstream: cel-go common/types/{timestamp,duration}.go
 */
import { celError } from '@bufbuild/cel'
import { create, type Message } from '@bufbuild/protobuf'
import { reflect, type ReflectMessage } from '@bufbuild/protobuf/reflect'
import { DurationSchema, TimestampSchema } from '@bufbuild/protobuf/wkt'
import { parseTime } from './age.ts'
import { parseUnits } from './cel-duration.ts'
import { declare, member, type Declaration } from './cel-function.ts'
import { formatPlain } from './cel-go-text.ts'
import { meter, OBJECT, PARTS } from './cel-meter.ts'

/** The names of the two types. */
export const TIMESTAMP = 'google.protobuf.Timestamp'
export const DURATION = 'google.protobuf.Duration'

const SECOND = 1_000_000_000n
const MIN_SECONDS = -62135596800n
const MAX_SECONDS = 253402300799n
const MAX_NANOS = 9223372036854775807n
const DAY = 86_400_000

// Offsets in minutes; UTC has none.
const offsets = new WeakMap<Message, number>()

interface Parts {
  readonly seconds: bigint
  readonly nanos: number
}

const parts = (value: ReflectMessage): Parts => value.message as unknown as Parts

/** Nanoseconds of a timestamp (since the epoch) or of a duration. */
export function nanosOf(value: ReflectMessage): bigint {
  meter.charge(1)
  const { seconds, nanos } = parts(value)
  return seconds * SECOND + BigInt(nanos)
}

/** Makes a timestamp of nanoseconds since the epoch, of the years 1 to 9999. `like`: the timestamp whose offset it keeps. */
export function timestampOf(nanos: bigint, offset = 0): ReflectMessage {
  meter.charge(OBJECT)
  const rest = ((nanos % SECOND) + SECOND) % SECOND
  const seconds = (nanos - rest) / SECOND
  if (seconds < MIN_SECONDS || seconds > MAX_SECONDS) throw celError('timestamp overflow')
  const message = create(TimestampSchema, { seconds, nanos: Number(rest) })
  if (offset !== 0) offsets.set(message, offset)
  return reflect(TimestampSchema, message)
}

/** The offset of a timestamp in minutes. */
export const offsetOf = (value: ReflectMessage): number => offsets.get(value.message) ?? 0

/** Makes a duration of nanoseconds. */
export function durationOf(nanos: bigint): ReflectMessage {
  meter.charge(OBJECT)
  if (nanos > MAX_NANOS || nanos < -MAX_NANOS - 1n) throw celError('integer overflow')
  return reflect(DurationSchema, create(DurationSchema, { seconds: nanos / SECOND, nanos: Number(nanos % SECOND) }))
}

/** A timestamp of an RFC 3339 text, undefined for what is none. */
export function parseTimestamp(text: string): ReflectMessage | undefined {
  meter.charge(PARTS)
  const instant = text.length > 100 ? undefined : parseTime(text)
  if (instant === undefined) return undefined
  const offset = /([+-])(\d\d):(\d\d)$/.exec(text)
  const minutes = offset === null ? 0 : Number(offset[2]) * 60 + Number(offset[3])
  return timestampOf(BigInt(instant.seconds) * SECOND + BigInt(instant.nanos), offset?.[1] === '-' ? -minutes : minutes)
}

/** A duration of Go's syntax, undefined for what is none. upstream: time.ParseDuration */
export function parseDuration(text: string): ReflectMessage | undefined {
  meter.charge(PARTS)
  const nanos = text.length > 128 ? undefined : parseUnits(text)
  return nanos === undefined || nanos > MAX_NANOS || nanos < -MAX_NANOS - 1n ? undefined : durationOf(nanos)
}

/** RFC 3339 with as many decimals as needed, in the offset of the timestamp. */
export function formatTimestamp(value: ReflectMessage): string {
  meter.charge(PARTS)
  const { seconds, nanos } = parts(value)
  const offset = offsetOf(value)
  const local = new Date(Number(seconds) * 1000 + offset * 60_000).toISOString().slice(0, 19)
  const fraction = nanos === 0 ? '' : `.${String(nanos).padStart(9, '0').replace(/0+$/, '')}`
  const zone = Math.abs(offset)
  const name = offset === 0 ? 'Z' : `${offset < 0 ? '-' : '+'}${String(Math.floor(zone / 60)).padStart(2, '0')}:${String(zone % 60).padStart(2, '0')}`
  return local + fraction + name
}

/** Seconds with as many decimals as a double has, e.g. `1.5s`. upstream: Duration.ConvertToType */
export function formatDuration(value: ReflectMessage): string {
  meter.charge(PARTS)
  const { seconds, nanos } = parts(value)
  return `${formatPlain(Number(seconds) + nanos / 1e9)}s`
}

const GETTERS: readonly [string, (date: Date) => number][] = [
  ['getFullYear', (date) => date.getUTCFullYear()],
  ['getMonth', (date) => date.getUTCMonth()],
  ['getDate', (date) => date.getUTCDate()],
  ['getDayOfMonth', (date) => date.getUTCDate() - 1],
  ['getDayOfWeek', (date) => date.getUTCDay()],
  ['getDayOfYear', (date) => Math.floor((date.getTime() - new Date(0).setUTCFullYear(date.getUTCFullYear(), 0, 1)) / DAY)],
  ['getHours', (date) => date.getUTCHours()],
  ['getMinutes', (date) => date.getUTCMinutes()],
  ['getSeconds', (date) => date.getUTCSeconds()],
  ['getMilliseconds', (date) => date.getUTCMilliseconds()],
]

const DURATION_GETTERS: Record<string, (nanos: bigint) => bigint> = {
  getHours: (nanos) => nanos / (3600n * SECOND),
  getMinutes: (nanos) => nanos / (60n * SECOND),
  getSeconds: (nanos) => nanos / SECOND,
  getMilliseconds: (nanos) => nanos / 1_000_000n,
}

// Looking up a time zone takes as long as some hundred nodes.
const ZONE_COST = 150
const NEW_ZONE_COST = 2000

/** The instant as a Date whose UTC parts are those of the zone: an offset such as `+02:00`, or a name such as `Europe/Berlin`. */
function inZone(value: ReflectMessage, zone: string): Date {
  meter.charge(OBJECT)
  const { seconds, nanos } = parts(value)
  const instant = Number(seconds) * 1000 + Math.floor(nanos / 1_000_000)
  if (zone.includes(':')) return new Date(instant + minutesOf(zone) * 60_000)
  return new Date(instant + namedOffset(instant, zone))
}

// upstream: Timestamp timeZone: hours before the first colon, minutes after it; a minus counts only in front
function minutesOf(zone: string): number {
  const colon = zone.indexOf(':')
  const hours = atoi(zone.slice(0, colon))
  const minutes = atoi(zone.slice(colon + 1))
  return hours * 60 + (zone.startsWith('-') ? -minutes : minutes)
}

function atoi(text: string): number {
  if (!/^[+-]?\d{1,10}$/.test(text)) throw celError(`strconv.Atoi: parsing ${JSON.stringify(text)}: invalid syntax`)
  return Number(text)
}

function namedOffset(instant: number, zone: string): number {
  if (zone === 'UTC' || zone === '' || zone === 'Local') return 0
  const whole = Math.floor(instant / 1000) * 1000
  const found = new Map(zoneFormat(zone).formatToParts(whole).map(({ type, value }) => [type, value]))
  const part = (type: Intl.DateTimeFormatPartTypes): number => Number(found.get(type) ?? 0)
  // the year 0 is called 1 BC
  const year = found.get('era') === 'BC' ? 1 - part('year') : part('year')
  return new Date(0).setUTCFullYear(year, part('month') - 1, part('day')) + ((part('hour') * 60 + part('minute')) * 60 + part('second')) * 1000 - whole
}

// Valid zones only: there are some hundred.
const zones = new Map<string, Intl.DateTimeFormat>()

function zoneFormat(zone: string): Intl.DateTimeFormat {
  const known = zones.get(zone)
  meter.charge(known === undefined ? NEW_ZONE_COST : ZONE_COST)
  if (known !== undefined) return known
  // Go looks a zone up as a file, so that the case of letters counts.
  if (!/^[A-Z][A-Za-z0-9_+-]*(\/[A-Za-z0-9_+-]+)*$/.test(zone) || zone === 'Z' || zone === 'Etc/Unknown') throw celError(`unknown time zone ${zone}`)
  try {
    const format = new Intl.DateTimeFormat('en-US', {
      timeZone: zone, hourCycle: 'h23', era: 'short', year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric', second: 'numeric',
    })
    zones.set(zone, format)
    return format
  } catch {
    throw celError(`unknown time zone ${zone}`)
  }
}

/** The methods of timestamps and durations. */
export const timeFunctions: Declaration[] = GETTERS.map(([name, part]) => {
  const ofDuration = DURATION_GETTERS[name]
  return declare(name, [
    member([TIMESTAMP], (value) => BigInt(part(inZone(value, 'UTC')))),
    member([TIMESTAMP, 'string'], (value, zone) => BigInt(part(inZone(value, zone)))),
    ...(ofDuration === undefined ? [] : [member([DURATION], (value) => ofDuration(nanosOf(value)))]),
  ])
})
