/** The lexical rules of a git source: what is refused before any process is started. */
import { AttemptError } from './attempt-failure.ts'

/** The parts of a GitSource of v1 that the clone step acts on. */
export type GitSource = {
  readonly url: string
  readonly revision?: string
  readonly credentialsSecretRef?: { readonly name?: string }
  readonly depth?: number
}

/**
 * The url as git gets it: http or https, with a host, without user and password, parsed and printed again, so that
 * git sees what was checked. Throws AttemptError (Final) with RevisionNotFound, for other schemes NotSupported.
 */
export function parseRepositoryUrl(text: string): URL {
  // oxlint-disable-next-line no-control-regex
  if (/[\s\x00-\x1f\x7f-\x9f\\]/.test(text) || text.startsWith('-')) {
    throw bad(text, 'has white space, a control character, a backslash or a leading "-"')
  }
  const scheme = /^([A-Za-z][A-Za-z0-9+.-]*):/.exec(text)?.[1]?.toLowerCase()
  if (scheme !== 'http' && scheme !== 'https') {
    const ssh = scheme === 'ssh' || /^[^/]+@[^/]+:/.test(text)
    if (ssh) throw new AttemptError('Final', 'NotSupported', `the url ${quote(text)} is for ssh; this worker clones over http and https only`)
    throw bad(text, 'must begin with https:// or http://')
  }
  if (!/^https?:\/\/[^/]/i.test(text)) throw bad(text, 'has no host')
  const url = URL.parse(text)
  if (url === null || url.hostname === '') throw bad(text, 'is not a url')
  if (url.username !== '' || url.password !== '' || /^https?:\/\/[^/]*@/i.test(text)) {
    throw new AttemptError('Final', 'CredentialsInvalid', 'the url must not hold a user or a password: put them into a Secret and name it in credentialsSecretRef')
  }
  if (url.hash !== '') throw bad(text, 'has a fragment ("#")')
  return url
}

/** git's rules for names of refs (git check-ref-format), and that it is no option, refspec or expression. */
export function checkRevision(revision: string): void {
  const refused =
    revision === '' ||
    revision.length > 255 ||
    // oxlint-disable-next-line no-control-regex
    /[\x00-\x20\x7f~^:?*[\\]|\.\.|@\{|\/\/|^[-+/]|^@$|[./]$|\.lock(\/|$)|(^|\/)\./.test(revision)
  if (refused) {
    throw new AttemptError('Final', 'RevisionNotFound', `${quote(revision)} is not a branch, a tag, a full ref or a commit: git has no such names`)
  }
}

/** A full commit id, of SHA-1 or SHA-256. */
export const isCommitId = (revision: string): boolean => /^([0-9a-f]{40}|[0-9a-f]{64})$/i.test(revision)

/** Could be the beginning of a commit id. */
export const isShortCommitId = (revision: string): boolean => /^[0-9a-f]{4,63}$/i.test(revision)

/** A text from outside in quotes, cut and without control characters. */
export function quote(text: string): string {
  // oxlint-disable-next-line no-control-regex
  const clean = text.replace(/[\x00-\x1f\x7f-\x9f]/g, '?')
  return `"${clean.length > 200 ? `${clean.slice(0, 200)}…` : clean}"`
}

function bad(text: string, rule: string): AttemptError {
  return new AttemptError('Final', 'RevisionNotFound', `the url ${quote(text)} ${rule}`)
}
