/**
 * The named normalizers of `comparison.normalizers`. Each masks one kind of thing that changes from run to run, with a
 * narrow pattern, so that no real difference hides behind it. All are linear: quantifiers are bounded, or their
 * character classes are disjoint and a match can only begin at a rare character.
 */
import { resolveCarriageReturns, stripAnsi } from './clean-text.ts'

/** The names that the API knows. */
export type Normalizer =
  | 'StripANSI'
  | 'CarriageReturns'
  | 'TrailingWhitespace'
  | 'Timestamps'
  | 'MemoryAddresses'
  | 'UUIDs'
  | 'ProgressBars'
  | 'Durations'
  | 'MatplotlibFigureSize'
  | 'TemporaryPaths'
  | 'CollapseWhitespace'

/** The default of `comparison.normalizers`. */
export const DEFAULT_NORMALIZERS: readonly Normalizer[] = [
  'StripANSI',
  'CarriageReturns',
  'TrailingWhitespace',
  'Timestamps',
  'MemoryAddresses',
  'UUIDs',
  'ProgressBars',
]

const MONTH = '(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)'
const DAY = '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)'
const TIME = '(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]'
const ZONE = '(?:Z| ?[+-][0-9]{2}:?[0-9]{2}| ?(?:UTC|GMT))'

// A date with a time of day: a date alone is data more often than noise.
const ISO_TIME = new RegExp(`(?<![0-9])[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])[T ]${TIME}(?:[.,][0-9]{1,9})?${ZONE}?(?![0-9])`, 'g')
// ctime: "Mon Jan  2 15:04:05 2006", with a zone before the year as date(1) prints it.
const C_TIME = new RegExp(`\\b${DAY} ${MONTH} [ 0-3]?[0-9] ${TIME}(?: [A-Z]{2,5})? [0-9]{4}\\b`, 'g')
// RFC 1123 and RFC 5322: "Mon, 02 Jan 2006 15:04:05 GMT".
const MAIL_TIME = new RegExp(`\\b${DAY}, [0-9]{1,2} ${MONTH} [0-9]{4} ${TIME}${ZONE}?`, 'g')
const ADDRESS = /\bat 0x[0-9A-Fa-f]{6,16}(?![0-9A-Za-z_])/g
// The folder that ipykernel names after its process in the paths of cells, as warnings and tracebacks show them:
// "/tmp/ipykernel_4242/1098521482.py". The name of the file follows from the cell's source and stays.
const KERNEL_PID = /(?<=[/\\]ipykernel_)[0-9]{1,10}(?=[/\\][0-9]{1,20}\.py)/g
const UUID = /(?<![0-9A-Za-z_-])[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}(?![0-9A-Za-z_-])/g
const FIGURE = /<Figure size [0-9]{1,6}(?:\.[0-9]{1,6})?x[0-9]{1,6}(?:\.[0-9]{1,6})? with/g
const TEMPORARY = /(?<![\w/.])(?:\/private)?\/(?:tmp|var\/tmp|var\/folders\/[\w+]{1,64}\/[\w+]{1,64}\/T)\/[\w.+-]{1,255}/g
const WINDOWS_TEMPORARY = /\b[A-Za-z]:\\Users\\[\w.+~-]{1,64}\\AppData\\Local\\Temp\\[\w.+-]{1,255}/g
const QUANTITY = /(?<![\w.])[0-9]{1,12}(?:\.[0-9]{1,12})? ?(?:ns|µs|μs|us|ms|s|secs?|seconds?|min|mins|minutes?|h|hours?)(?!\w)/g
const CLOCK = /(?<![\w.:])[0-9]{1,3}:[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,9})?(?![\w:])/g

// The tail of a tqdm bar: "45/100 [00:01<00:01, 44.50it/s]"; and a bar without a total: "45it [00:01, 44.50it/s]".
const TQDM_TAIL = /^ *[0-9.]{1,20}[kMGTP]?\/[0-9.?]{1,20}[kMGTP]? \[[^\]\n]{1,200}\]? *$/
const TQDM_COUNT = /^(?:[^:\n]{0,200}: )?[0-9]{1,15}[a-zA-Z]{1,20} \[[0-9]{1,3}:[0-9:]{2,8}, [^\]\n]{1,200}\] *$/
const TQDM_BAR = /^[\u2580-\u259f#=>.0-9 -]*$/
// Keras prints its metrics behind the bar: only the bar and the times go.
const KERAS_BAR = /(?<![0-9])[0-9]{1,9}\/[0-9]{1,9} (?:\[[=>.]{5,80}\] - |\u2501{5,80} )(?:ETA: )?[0-9:]{1,9}s?(?: [0-9]{1,9}[mun]?s\/(?:step|epoch|sample))?/g
const DOWNLOAD_BAR = /^ *\u2501{5,200} *[0-9.]{1,12}\/[0-9.]{1,12} [kMGT]?B .{0,80}$/

// Applied in this order, whatever the order of the list: escapes before what they may split, whole lines before their
// parts, white space last.
const STEPS: readonly (readonly [Normalizer, (text: string) => string])[] = [
  ['StripANSI', stripAnsi],
  ['CarriageReturns', resolveCarriageReturns],
  ['ProgressBars', dropProgressBars],
  ['UUIDs', (text) => text.replace(UUID, '<uuid>')],
  ['Timestamps', (text) => text.replace(ISO_TIME, '<timestamp>').replace(C_TIME, '<timestamp>').replace(MAIL_TIME, '<timestamp>')],
  ['TemporaryPaths', (text) => text.replace(TEMPORARY, '<temporary>').replace(WINDOWS_TEMPORARY, '<temporary>')],
  // what says only which process it was: where its objects lie, and its id where a kernel shows it
  ['MemoryAddresses', (text) => text.replace(ADDRESS, 'at <address>').replace(KERNEL_PID, '<pid>')],
  ['MatplotlibFigureSize', (text) => text.replace(FIGURE, '<Figure size <size> with')],
  ['Durations', (text) => text.replace(CLOCK, '<duration>').replace(QUANTITY, '<duration>')],
  ['CollapseWhitespace', (text) => text.replace(/[ \t]+/g, ' ').replace(/\n+/g, '\n')],
  ['TrailingWhitespace', trimLineEnds],
]

/** The text with the named normalizers applied, in the fixed order. */
export function normalize(text: string, normalizers: ReadonlySet<Normalizer>): string {
  return STEPS.reduce((result, [name, step]) => (normalizers.has(name) ? step(result) : result), text)
}

function dropProgressBars(text: string): string {
  if (!text.includes('%|') && !text.includes('[') && !text.includes('\u2501')) return text
  return text
    .replace(KERAS_BAR, '<progress>')
    .split('\n')
    .filter((line) => !isProgressBar(line))
    .join('\n')
}

function isProgressBar(line: string): boolean {
  if (line.length > 1000) return false
  const bar = line.indexOf('%|')
  if (bar < 0) return TQDM_COUNT.test(line) || DOWNLOAD_BAR.test(line)
  const end = line.indexOf('|', bar + 2)
  return end > 0 && TQDM_BAR.test(line.slice(bar + 2, end)) && TQDM_TAIL.test(line.slice(end + 1))
}

function trimLineEnds(text: string): string {
  return trimEnd(text.split('\n').map((line) => trimEnd(line, ' \t\r')).join('\n'), '\n')
}

function trimEnd(text: string, characters: string): string {
  let end = text.length
  while (end > 0 && characters.includes(text[end - 1]!)) end--
  return text.slice(0, end)
}
