/** Text of a notebook made fit for a status: readable in a terminal, valid in JSON and XML. */

// CSI, OSC, the other string commands and two-character commands. The classes of a branch are disjoint and every match
// begins at an escape and ends before the next, so it is linear.
// oxlint-disable-next-line no-control-regex -- control characters are what it is about
const ANSI = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[PX^_][^\u001b]*(?:\u001b\\)?|[ -/]*[0-~])/g
// oxlint-disable-next-line no-control-regex -- as above
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g

/** The text without ANSI escape sequences. */
export function stripAnsi(text: string): string {
  return text.includes('\u001b') ? text.replace(ANSI, '') : text
}

/**
 * The text as a terminal would leave it: a carriage return begins its line again, a backspace takes the character
 * before it. Line ends become `\n`. As nbclient's coalesce_streams, but linear.
 */
export function resolveCarriageReturns(text: string): string {
  if (!text.includes('\r') && !text.includes('\b')) return text
  return text.split('\n').map(resolveLine).join('\n')
}

function resolveLine(line: string): string {
  let end = line.length
  while (end > 0 && line[end - 1] === '\r') end--
  const visible = line.slice(line.lastIndexOf('\r', end - 1) + 1, end)
  if (end === 0 || !visible.includes('\b')) return end === 0 ? '' : visible
  const kept: string[] = []
  for (const character of visible) {
    if (character === '\b') kept.pop()
    else kept.push(character)
  }
  return kept.join('')
}

/** The text without escape sequences and control characters (tab and newline stay); lone surrogates become U+FFFD. */
export function cleanText(text: string): string {
  return stripAnsi(text).replace(CONTROLS, '').toWellFormed()
}
