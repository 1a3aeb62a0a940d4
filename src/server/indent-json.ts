/** From here on lines are indented alike: at 10,000 levels the blanks would be a hundred thousand times the text. */
const MAX_INDENTED_DEPTH = 200

/**
 * Compact JSON → indented by two spaces, token by token: numbers and escapes stay as they are.
 * upstream: encoding/json: Indent
 */
export function indentJson(text: string): string {
  let out = ''
  let depth = 0
  const line = () => `\n${'  '.repeat(Math.min(depth, MAX_INDENTED_DEPTH))}`
  for (let i = 0; i < text.length; i++) {
    const char = text[i] as string
    if (char === '"') {
      const end = stringEnd(text, i)
      out += text.slice(i, end)
      i = end - 1
    } else if (char === '{' || char === '[') {
      const close = text[i + 1]
      if (close === '}' || close === ']') {
        out += char + close
        i++
      } else {
        depth++
        out += char + line()
      }
    } else if (char === '}' || char === ']') {
      depth--
      out += line() + char
    } else if (char === ',') out += char + line()
    else if (char === ':') out += ': '
    else out += char
  }
  return out
}

function stringEnd(text: string, start: number): number {
  for (let i = start + 1; i < text.length; i++) {
    if (text[i] === '\\') i++
    else if (text[i] === '"') return i + 1
  }
  return text.length
}
