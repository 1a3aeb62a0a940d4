/** An answer as a value: what documents (discovery, OpenAPI, health, version, metrics) give, ready to be sent. */
import { createHash } from 'node:crypto'

/** Header names are lower case. */
export interface Answer {
  readonly code: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Buffer
}

/** Plain text that no browser takes for something else. upstream: net/http: Error */
export function answerText(code: number, body: string): Answer {
  return { code, headers: { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' }, body }
}

/** A quoted entity tag for a body: upper-case hexadecimal SHA-512, as upstream's. */
export function entityTag(body: string | Buffer): string {
  return `"${createHash('sha512').update(body).digest('hex').toUpperCase()}"`
}

/** Whether an If-None-Match header holds the tag. */
export function matchesTag(header: string | undefined, tag: string): boolean {
  return header !== undefined && header.split(',').some((part) => part.trim() === '*' || part.trim().replace(/^W\//, '') === tag)
}
