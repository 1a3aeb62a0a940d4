/** The clone step: the named revision of a repository as a checkout, shallow where the server allows it. */
import { mkdir, rm } from 'node:fs/promises'
import type { Clock } from '../base/clock.ts'
import { AttemptError } from './attempt-failure.ts'
import type { Credentials } from './credentials.ts'
import { checkRevision, type GitSource, isCommitId, isShortCommitId, parseRepositoryUrl, quote } from './git-source.ts'
import { classifyGitFailure, type GitSession, isAuthenticationFailure, lastWords, openGitSession } from './git.ts'
import type { Environment, Exit } from './process-group.ts'

/** What a checkout may hold; a pack bomb unfolds into far more. */
export type CloneLimits = { readonly files: number; readonly bytes: number; readonly timeoutMs: number }

/** The limits of the local worker. */
export const CLONE_LIMITS: CloneLimits = { files: 200_000, bytes: 2 * 1024 ** 3, timeoutMs: 300_000 }

export interface CloneOptions {
  /** An empty private directory; the checkout becomes a folder of it. */
  readonly directory: string
  readonly source: GitSource
  readonly credentials: Credentials
  readonly limits: CloneLimits
  readonly environment: Environment
  /** Marks the processes of the attempt. */
  readonly mark: string
  readonly clock: Clock
  readonly signal: AbortSignal
}

/** A checkout and the commit that it is of. */
export type Checkout = { readonly directory: string; readonly commit: string }

/** Clones a source. Throws AttemptError, whose message holds no secret. */
export async function clone(options: CloneOptions): Promise<Checkout> {
  const { source, credentials, limits } = options
  const url = parseRepositoryUrl(source.url)
  const revision = source.revision ?? 'main'
  checkRevision(revision)
  await mkdir(options.directory, { recursive: true, mode: 0o700 })
  const session = await openGitSession({ ...options, url, timeoutMs: limits.timeoutMs })
  const fetch: Fetch = { session, credentials, url, depth: source.depth ?? 1 }
  await initialize(session, revision.length === 64 && isCommitId(revision) ? 'sha256' : 'sha1')
  const commit = await resolve(fetch, revision)
  await checkSize(session, commit, limits)
  const exit = await session.git('checkout', '--quiet', '--force', '--detach', commit, '--')
  if (exit.code !== 0) throw classifyGitFailure(exit, session, credentials.authorizations.length > 0)
  return { directory: session.checkout, commit }
}

type Fetch = { readonly session: GitSession; readonly credentials: Credentials; readonly url: URL; readonly depth: number }

async function initialize(session: GitSession, format: 'sha1' | 'sha256'): Promise<void> {
  await rm(session.checkout, { recursive: true, force: true })
  await mkdir(session.checkout, { mode: 0o700 })
  const exit = await session.git('init', '--quiet', '--template=', `--object-format=${format}`)
  if (exit.code !== 0) throw new AttemptError('Infrastructure', 'RunnerUnavailable', `git init failed: ${lastWords(exit.stderr)}`)
}

/** Fetches the revision and returns its commit. */
async function resolve(fetch: Fetch, revision: string): Promise<string> {
  const { session } = fetch
  let exit = await fetchRefs(fetch, fetch.depth, [revision])
  if (exit.code !== 0 && /mismatched algorithms|unknown object format|object format mismatch/i.test(exit.stderr)) {
    await initialize(session, 'sha256')
    exit = await fetchRefs(fetch, fetch.depth, [revision])
  }
  if (exit.code === 0) return await commitOf(session, 'FETCH_HEAD', revision)
  const unknown = /couldn't find remote ref|not our ref|unadvertised object|does not (?:allow|support) request|no such remote ref|remote error: upload-pack: not our ref/i.test(exit.stderr)
  if (!unknown) throw classifyGitFailure(exit, session, fetch.credentials.authorizations.length > 0)
  if (!isCommitId(revision) && !isShortCommitId(revision)) throw revisionNotFound(session, revision)
  // the server hands out no commit by its id, or the id is cut short: look for it in everything that has a name
  exit = await fetchRefs(fetch, 0, ['+refs/heads/*:refs/remotes/origin/*', '+refs/tags/*:refs/tags/*'])
  if (exit.code !== 0) throw classifyGitFailure(exit, session, fetch.credentials.authorizations.length > 0)
  return await commitOf(session, revision, revision)
}

/** git fetch, with one authorization after the other until the server takes one. */
async function fetchRefs(fetch: Fetch, depth: number, refspecs: readonly string[]): Promise<Exit> {
  const limit = depth > 0 ? [`--depth=${depth}`] : []
  const candidates = fetch.credentials.authorizations.length > 0 ? fetch.credentials.authorizations : [undefined]
  let exit: Exit | undefined
  for (const authorization of candidates) {
    fetch.session.authorize(authorization)
    exit = await fetch.session.git('fetch', '--quiet', '--no-tags', '--no-recurse-submodules', '--no-auto-maintenance', ...limit, '--end-of-options', fetch.url.href, ...refspecs)
    if (exit.code === 0 || !isAuthenticationFailure(exit)) break
  }
  return exit!
}

async function commitOf(session: GitSession, expression: string, revision: string): Promise<string> {
  const exit = await session.git('rev-parse', '--verify', '--quiet', '--end-of-options', `${expression}^{commit}`)
  const commit = exit.stdout.trim()
  if (exit.code !== 0 || !isCommitId(commit)) {
    if (/ambiguous/i.test(exit.stderr)) throw new AttemptError('Final', 'RevisionNotFound', `${quote(revision)} is the beginning of more than one commit id`)
    throw revisionNotFound(session, revision)
  }
  return commit
}

function revisionNotFound(session: GitSession, revision: string): AttemptError {
  return new AttemptError('Final', 'RevisionNotFound', `the repository ${quote(session.url.href)} has no branch, tag or commit ${quote(revision)}`)
}

/** Counts what a checkout would write, before it writes: a few kilobytes of trees can stand for billions of files. */
async function checkSize(session: GitSession, commit: string, limits: CloneLimits): Promise<void> {
  let files = 0
  let bytes = 0
  const enough = new AbortController()
  const count = (line: string): void => {
    files++
    bytes += Number(/^\d+ blob [0-9a-f]+ +(\d+)\t/.exec(line)?.[1] ?? 0)
    if (files > limits.files || bytes > limits.bytes) enough.abort()
  }
  const exit = await session.lines(enough.signal, count, 'ls-tree', '-r', '--long', '--full-tree', commit)
  if (enough.signal.aborted) {
    const mebibytes = Math.round(limits.bytes / 1024 ** 2)
    throw new AttemptError('Final', 'RevisionNotFound', `the checkout is larger than this worker allows (${limits.files} files, ${mebibytes} MiB)`)
  }
  if (exit.code !== 0) throw new AttemptError('Infrastructure', 'RunnerUnavailable', `git could not read the fetched commit: ${lastWords(session.redact(exit.stderr))}`)
}
