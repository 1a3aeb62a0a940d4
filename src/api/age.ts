/**
 * Instants and how long ago they were, as tables show it.
 * upstream: apimachinery/pkg/util/duration/duration.go: HumanDuration; apimachinery/pkg/api/meta/table
 */

const RFC3339 = /^(\d{4})-(\d\d)-(\d\d)T(\d{1,2}):(\d\d):(\d\d)(?:[.,](\d+))?(?:Z|([+-])(\d\d):(\d\d))$/

/** An instant: whole seconds since the epoch and nanoseconds within the second (0 to 999,999,999). */
export interface Instant {
  readonly seconds: number
  readonly nanos: number
}

/** Parses an RFC 3339 time; undefined for anything else. upstream: time.Parse(time.RFC3339, …) */
export function parseTime(text: string): Instant | undefined {
  const match = RFC3339.exec(text)
  if (match === null) return undefined
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map(Number) as [number, number, number, number, number, number]
  const [offsetHour, offsetMinute] = [Number(match[9] ?? 0), Number(match[10] ?? 0)]
  if (hour > 23 || minute > 59 || second > 59 || offsetHour > 24 || offsetMinute > 59) return undefined
  const date = new Date(0)
  date.setUTCFullYear(year, month - 1, day)
  // a day that the month does not have comes out as another one
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return undefined
  const offset = (offsetHour * 60 + offsetMinute) * (match[8] === '-' ? -60 : 60)
  const seconds = date.getTime() / 1000 + hour * 3600 + minute * 60 + second - offset
  return { seconds, nanos: Number((match[7] ?? '').slice(0, 9).padEnd(9, '0')) }
}

// Go's zero time, 0001-01-01T00:00:00Z, in seconds since the epoch.
const ZERO_SECONDS = -62135596800
// Go's longest duration, about 292 years, in seconds.
const MAX_SECONDS = 9223372036

/**
 * The age of a time written as RFC 3339, at `now` (milliseconds since the epoch): `<unknown>` for an absent time, `<invalid>` for what is no
 * time or lies more than a second ahead.
 */
export function formatAge(time: string, now: number): string {
  if (time === '' || time === 'null') return '<unknown>'
  const instant = parseTime(time)
  if (instant === undefined) return '<invalid>'
  if (instant.seconds === ZERO_SECONDS && instant.nanos === 0) return '<unknown>'
  return formatDuration(Math.min(now / 1000 - instant.seconds - instant.nanos / 1e9, MAX_SECONDS))
}

/** A duration in seconds as kubectl shows it: `5s`, `3m20s`, `4h`, `2d3h`, `1y20d`. */
export function formatDuration(duration: number): string {
  const seconds = Math.trunc(duration)
  if (seconds < -1) return '<invalid>'
  if (duration < 0) return '0s'
  if (seconds < 120) return `${seconds}s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 10) return pair(minutes, 'm', seconds % 60, 's')
  if (minutes < 180) return `${minutes}m`
  const hours = Math.floor(minutes / 60)
  if (hours < 8) return pair(hours, 'h', minutes % 60, 'm')
  if (hours < 48) return `${hours}h`
  const days = Math.floor(hours / 24)
  if (days < 8) return pair(days, 'd', hours % 24, 'h')
  if (days < 730) return `${days}d`
  const years = Math.floor(days / 365)
  return days < 365 * 8 ? pair(years, 'y', days % 365, 'd') : `${years}y`
}

const pair = (large: number, largeUnit: string, small: number, smallUnit: string): string =>
  small === 0 ? `${large}${largeUnit}` : `${large}${largeUnit}${small}${smallUnit}`
