/** Comments of expressions, which the parser takes only in some places. upstream: cel-go parser/gen/CEL.g4 COMMENT, STRING, BYTES, ESC_IDENTIFIER */

// A comment, or what may hold two slashes that are none. What is not closed goes to the end: it is wrong, whatever stands in it.
const PIECE = new RegExp(
  [
    /\/\/[^\n]*/,
    /`[\w.\-/ ]+`/,
    /(?<!\w)(?:[rR][bB]?|[bB][rR])(?:"""[^]*?(?:"""|$)|'''[^]*?(?:'''|$)|"[^"\r\n]*"?|'[^'\r\n]*'?)/,
    /"""(?:\\[^]|[^\\])*?(?:"""|$)/,
    /'''(?:\\[^]|[^\\])*?(?:'''|$)/,
    /"(?:\\.|[^"\\\r\n])*"?/,
    /'(?:\\.|[^'\\\r\n])*'?/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'g',
)

/** The expression with blanks in place of comments, so that all else stays where it is. */
export function withoutComments(text: string): string {
  return text.includes('//') ? text.replaceAll(PIECE, (piece) => (piece.startsWith('//') ? ' '.repeat(piece.length) : piece)) : text
}
