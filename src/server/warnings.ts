/**
 * Warning headers of one request. upstream: apiserver/pkg/endpoints/filters/warning.go, apimachinery/pkg/util/net/http.go: NewWarningHeader
 */

const MAX_TOTAL = 4096
const MAX_TRUNCATED = 256
// eslint-disable-next-line no-control-regex -- control characters are what is looked for
const CONTROL = /[\u0000-\u001f\u007f]/

/** Collects the warnings of a request, each text once, and renders them as header values. */
export class Warnings {
  readonly #texts: string[] = []

  /** Takes a text; empty ones and such with control characters are dropped. */
  add(text: string): void {
    if (text !== '' && !CONTROL.test(text) && !this.#texts.includes(text)) this.#texts.push(text)
  }

  /** The header values; beyond 4096 characters in all, each is cut to 256 and the rest is dropped. */
  headers(): string[] {
    const length = (texts: readonly string[]) => texts.reduce((sum, text) => sum + [...text].length, 0)
    if (length(this.#texts) <= MAX_TOTAL) return this.#texts.map(header)
    const kept: string[] = []
    for (const text of this.#texts) {
      const cut = [...text].slice(0, MAX_TRUNCATED).join('')
      if (length(kept) + [...cut].length > MAX_TOTAL) break
      kept.push(cut)
    }
    return kept.map(header)
  }
}

// UTF-8, as upstream sends it; Node takes a header's bytes as Latin-1.
function header(text: string): string {
  return Buffer.from(`299 - "${text.replace(/["\\]/g, (c) => `\\${c}`)}"`).toString('latin1')
}
