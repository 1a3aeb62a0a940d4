/** Why an expression is not compiled, in the words of cel-go. upstream: cel-go common/{error,errors}.go */

/** What is wrong with a part of an expression. */
export class PartFault extends Error {
  /** Of the part; undefined where it has none. */
  readonly id: bigint | undefined
  /** Its place is where this stands first in it: upstream puts calls at their bracket. */
  readonly at: '(' | '{' | undefined
  /** That it is right and only not served here. */
  readonly missing: boolean

  constructor(text: string, id: bigint | undefined, { at, missing = false }: { readonly at?: '(' | '{'; readonly missing?: boolean } = {}) {
    super(text)
    this.name = 'PartFault'
    this.id = id
    this.at = at
    this.missing = missing
  }
}

/** An expression that is not compiled. The message is upstream's (`ERROR: <input>:1:5: undefined field 'b'`, and the line with a mark), or what is `missing` here. */
export class CompileError extends Error {
  readonly missing: boolean

  constructor(message: string, options: { readonly missing: boolean; readonly cause?: unknown }) {
    super(message, { cause: options.cause })
    this.name = 'CompileError'
    this.missing = options.missing
  }
}

/** What of optional syntax the parser stumbles over, in a text without comments and strings. */
const OPTIONAL_SYNTAX = /\.\s*\?|[[{,]\s*\?/

/**
 * The error of a parser (one with a `location`), of a check (PartFault), or any other, which has no place. `bare` is `text` without comments;
 * `offsetOf` finds the place of a part in it.
 */
export function compileError(error: unknown, { text, bare }: { readonly text: string; readonly bare: string }, offsetOf: (id: bigint) => number | undefined): CompileError {
  if (error instanceof CompileError) return error
  if (error instanceof RangeError) return compileError(new Error(RECURSION), { text, bare }, offsetOf)
  if (error instanceof PartFault) {
    if (error.missing) return new CompileError(error.message, { missing: true, cause: error })
    return new CompileError(display(text, placeOf(error, bare, offsetOf), error.message), { missing: false, cause: error })
  }
  const { location, rawMessage } = error as { readonly location?: { readonly start: { readonly offset: number } }; readonly rawMessage?: string }
  if (location !== undefined && OPTIONAL_SYNTAX.test(bare.replaceAll(STRING, "''"))) {
    return new CompileError('optional syntax (.?, [?, {?) is not supported', { missing: true, cause: error })
  }
  const words = location === undefined ? (error as Error).message : `Syntax error: ${rawMessage ?? (error as Error).message}`
  return new CompileError(display(text, location?.start.offset, words), { missing: false, cause: error })
}

function placeOf({ id, at }: PartFault, bare: string, offsetOf: (id: bigint) => number | undefined): number | undefined {
  const offset = id === undefined ? undefined : offsetOf(id)
  const found = offset === undefined || at === undefined ? -1 : bare.indexOf(at, offset)
  return found < 0 ? offset : found
}

/** The text for an expression that nests too deeply. upstream: cel-go parser maxRecursionDepth */
export const RECURSION = 'expression recursion limit exceeded: 250'

const STRING = /(["'])(?:\\.|(?!\1)[^\\])*\1/gs

// upstream: Error.ToDisplayString. Columns count code points; what is no ASCII has a mark of double width.
function display(text: string, offset: number | undefined, message: string): string {
  if (offset === undefined) return `ERROR: <input>:-1:0: ${message}`
  const start = text.lastIndexOf('\n', offset - 1) + 1
  const end = text.indexOf('\n', offset)
  const line = Array.from(text.slice(start, end < 0 ? text.length : end))
  const column = Array.from(text.slice(start, offset)).length
  const row = text.slice(0, start).split('\n').length
  const wide = (char: string | undefined): boolean => char !== undefined && (char.codePointAt(0) as number) > 0x7f
  const dots = line.slice(0, column).map((char) => (wide(char) ? '\uff0e' : '.')).join('')
  const snippet = line.join('').replaceAll('\t', ' ')
  return `ERROR: <input>:${row}:${column + 1}: ${message}\n | ${snippet}\n | ${dots}${wide(line[column]) ? '\uff3e' : '^'}`
}
