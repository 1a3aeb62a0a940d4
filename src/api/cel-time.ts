/**
 * The parts of a timestamp, in UTC or a time zone. The library's own go through the local time zone of the process, which lacks an hour in spring.
 * upstream: cel-go common/types/timestamp.go
 */
import { CelScalar, celError, celMethod, objectType, type CelFunc } from '@bufbuild/cel'
import { TimestampSchema } from '@bufbuild/protobuf/wkt'

const TIMESTAMP = objectType(TimestampSchema)
const { INT, STRING } = CelScalar

interface Timestamp {
  readonly message: { readonly seconds: bigint; readonly nanos: number }
}

const DAY = 86_400_000

const PARTS: readonly [string, (date: Date) => number][] = [
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

/** The instant as a Date whose UTC parts are those of the zone: an offset such as `+02:00`, or a name such as `Europe/Berlin`. */
function inZone({ message }: Timestamp, zone: string): Date {
  const instant = Number(message.seconds) * 1000 + Math.floor(message.nanos / 1_000_000)
  const offset = /^([+-]?)(\d\d):(\d\d)$/.exec(zone)
  if (offset === null) return new Date(instant + namedOffset(instant, zone))
  const minutes = Number(offset[2]) * 60 + Number(offset[3])
  return new Date(instant + (offset[1] === '-' ? -minutes : minutes) * 60_000)
}

function namedOffset(instant: number, zone: string): number {
  if (zone === 'UTC' || zone === '') return 0
  const whole = Math.floor(instant / 1000) * 1000
  const parts = new Map(format(zone).formatToParts(whole).map(({ type, value }) => [type, Number(value)]))
  const part = (type: Intl.DateTimeFormatPartTypes): number => parts.get(type) ?? 0
  return Date.UTC(part('year'), part('month') - 1, part('day'), part('hour'), part('minute'), part('second')) - whole
}

function format(zone: string): Intl.DateTimeFormat {
  try {
    return new Intl.DateTimeFormat('en-US', {
      timeZone: zone, hourCycle: 'h23', year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric', second: 'numeric',
    })
  } catch {
    throw celError(`unknown time zone ${zone}`)
  }
}

/** The methods of timestamps. */
export const timeFunctions: CelFunc[] = PARTS.flatMap(([name, part]) => [
  celMethod(name, TIMESTAMP, [], INT, function () { return BigInt(part(inZone(this, 'UTC'))) }),
  celMethod(name, TIMESTAMP, [STRING], INT, function (zone) { return BigInt(part(inZone(this, zone))) }),
])
