/**
 * Warning headers of one request. upstream: apiserver/pkg/endpoints/filters/warning.go, apimachinery/pkg/util/net/http.go: NewWarningHeader
 */

const MAX_TOTAL = 4096
const MAX_TRUNCATED = 256
// eslint-disable-next-line no-control-regex -- control characters are what is looked for
const CONTROL = /[\u0000-\u001f\u007f]/

/** Collects the warnings of a request, each text once, and renders them as header values. */
export class Warnings {
  readonly #texts = new Set<string>()
  // Characters that the texts have when each is cut.
  #cutLength = 0

  /** Takes a text; empty ones and such with control characters are dropped, and all that no header would have room for. */
  add(text: string): void {
    if (text === '' || this.#cutLength > MAX_TOTAL || CONTROL.test(text) || this.#texts.has(text)) return
    this.#texts.add(text)
    this.#cutLength += characters(cut(text))
  }

  /**
   * The header values. With the first text that goes beyond 4096 characters in all, every one is cut to 256, and more are added as long as those are fewer than 4096 together:
   * a little more than that may be sent.
   */
  headers(): string[] {
    let kept: string[] = []
    let length = 0
    let cutting = false
    for (const text of this.#texts) {
      if (cutting && length >= MAX_TOTAL) break
      if (!cutting && length + characters(text) > MAX_TOTAL) {
        cutting = true
        kept = kept.map(cut)
        length = kept.reduce((sum, short) => sum + characters(short), 0)
      }
      const shown = cutting ? cut(text) : text
      kept.push(shown)
      length += characters(shown)
    }
    return kept.map(header)
  }
}

// A long text is over the limit whatever its characters are.
const characters = (text: string): number => (text.length > 2 * MAX_TOTAL ? text.length : [...text].length)

// A character takes one or two units.
const cut = (text: string): string => Array.from(text.slice(0, 2 * MAX_TRUNCATED)).slice(0, MAX_TRUNCATED).join('')

// UTF-8, as upstream sends it; Node takes a header's bytes as Latin-1.
function header(text: string): string {
  return Buffer.from(`299 - "${text.replace(/["\\]/g, (c) => `\\${c}`)}"`).toString('latin1')
}
