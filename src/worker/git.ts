/**
 * Runs git for a repository that nobody trusts: no shell, no prompt, no hook, no configuration but ours, no transport
 * but http(s), no credential in an argument or a url.
 */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../base/clock.ts'
import { AttemptError } from './attempt-failure.ts'
import { type Credentials, redact } from './credentials.ts'
import { quote } from './git-source.ts'
import { ATTEMPT_MARK, type Environment, type Exit, startProcess } from './process-group.ts'

/** One place where git runs: a private directory for its files and the checkout inside of it. */
export interface GitSession {
  readonly checkout: string
  readonly url: URL
  /** Runs git in the checkout. `failures` of git itself are in the exit; throws when it cannot be started or took too long. */
  git(...args: string[]): Promise<Exit>
  /** As `git`, with the output passed on line by line, until `enough`. */
  lines(enough: AbortSignal, onLine: (line: string) => void, ...args: string[]): Promise<Exit>
  /** Sends the header with the following requests. */
  authorize(authorization: string | undefined): void
  readonly redact: (text: string) => string
}

export interface GitSessionOptions {
  readonly directory: string
  readonly url: URL
  readonly credentials: Credentials
  readonly environment: Environment
  readonly mark: string
  readonly timeoutMs: number
  readonly clock: Clock
  readonly signal: AbortSignal
}

/** What of the worker's environment git may see: where programs are, proxies and the machine's certificates. */
const PASSED_ON = [
  'PATH', 'TMPDIR', 'http_proxy', 'https_proxy', 'HTTPS_PROXY', 'all_proxy', 'ALL_PROXY', 'no_proxy', 'NO_PROXY',
  'SSL_CERT_FILE', 'SSL_CERT_DIR', 'GIT_SSL_CAINFO', 'GIT_SSL_CAPATH', 'CURL_CA_BUNDLE', 'GIT_EXEC_PATH',
]

const FIXED_ENVIRONMENT = {
  LC_ALL: 'C',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_ATTR_NOSYSTEM: '1',
  GIT_TERMINAL_PROMPT: '0',
  // empty and not absent: no graphical askpass of the desktop pops up
  GIT_ASKPASS: '',
  GIT_ALLOW_PROTOCOL: 'http:https',
  GIT_PROTOCOL_FROM_USER: '0',
  GIT_LFS_SKIP_SMUDGE: '1',
  GIT_NO_REPLACE_OBJECTS: '1',
}

/** The configuration of every call. Old but harmless flaws of real repositories are let through the object check. */
const CONFIGURATION: readonly (readonly [string, string])[] = [
  ['core.hooksPath', '/dev/null'],
  ['core.fsmonitor', 'false'],
  ['core.protectNTFS', 'true'],
  ['core.protectHFS', 'true'],
  ['protocol.allow', 'never'],
  ['protocol.http.allow', 'always'],
  ['protocol.https.allow', 'always'],
  ['credential.helper', ''],
  ['submodule.recurse', 'false'],
  ['fetch.recurseSubmodules', 'false'],
  ['fetch.fsckObjects', 'true'],
  ...['zeroPaddedFilemode', 'missingSpaceBeforeDate', 'missingSpaceBeforeEmail', 'badTimezone', 'missingNameBeforeEmail', 'zeroPaddedDate', 'missingTaggerEntry', 'badFilemode'].map(
    (flaw) => [`fetch.fsck.${flaw}`, 'ignore'] as const,
  ),
  ['http.sslVerify', 'true'],
  ['http.lowSpeedLimit', '1000'],
  ['http.lowSpeedTime', '30'],
  ['gc.auto', '0'],
  ['maintenance.auto', 'false'],
  ['advice.detachedHead', 'false'],
]

/** Makes the session; the CA certificates of the credentials go into a file of the directory. */
export async function openGitSession(options: GitSessionOptions): Promise<GitSession> {
  const { directory, url, credentials, clock } = options
  const checkout = join(directory, 'repository')
  const configuration = [...CONFIGURATION]
  const caFile = join(directory, 'ca.crt')
  if (credentials.caCertificate !== undefined) await writeFile(caFile, credentials.caCertificate, { mode: 0o600 })
  // the variables win over git's configuration: the Secret's CA must win over the machine's
  const trust = credentials.caCertificate === undefined ? {} : { GIT_SSL_CAINFO: caFile, GIT_SSL_CAPATH: undefined }
  // a redirect must not carry credentials to another server
  configuration.push(['http.followRedirects', credentials.authorizations.length > 0 ? 'false' : 'initial'])
  const ends = clock.monotonic() + options.timeoutMs
  let authorization: string | undefined
  const run = async (args: readonly string[], more: { signal: AbortSignal; onLine?: (line: string) => void }): Promise<Exit> => {
    const timeoutMs = Math.max(1, ends - clock.monotonic())
    const environment = { ...gitEnvironment(options, directory, configuration, authorization), ...trust }
    const exit = await startProcess({ command: 'git', args: ['-C', checkout, ...args], environment, timeoutMs, clock, ...more }).exited
    options.signal.throwIfAborted()
    if (exit.error) throw gitMissing(exit.error)
    if (exit.timedOut) throw new AttemptError('Infrastructure', 'RunnerUnavailable', `cloning ${quote(url.href)} did not end within ${Math.round(options.timeoutMs / 1000)} s`)
    return exit
  }
  return {
    checkout,
    url,
    git: (...args) => run(args, { signal: options.signal }),
    lines: (enough, onLine, ...args) => run(args, { signal: AbortSignal.any([enough, options.signal]), onLine }),
    authorize: (value) => (authorization = value),
    redact: (text) => redact(text, credentials),
  }
}

function gitEnvironment(options: GitSessionOptions, home: string, configuration: readonly (readonly [string, string])[], authorization: string | undefined): Environment {
  const passedOn = Object.fromEntries(PASSED_ON.map((name) => [name, options.environment[name]]).filter(([, value]) => value !== undefined))
  // only for this server: git compares the url
  const header = authorization === undefined ? [] : [[`http.${options.url.origin}/.extraHeader`, `Authorization: ${authorization}`] as const]
  const all = [...configuration, ...header]
  const inherited = Object.fromEntries(all.flatMap(([key, value], i) => [[`GIT_CONFIG_KEY_${i}`, key], [`GIT_CONFIG_VALUE_${i}`, value]]))
  return { ...passedOn, ...FIXED_ENVIRONMENT, ...inherited, GIT_CONFIG_COUNT: String(all.length), HOME: home, [ATTEMPT_MARK]: options.mark }
}

function gitMissing(error: NodeJS.ErrnoException): AttemptError {
  const text = error.code === 'ENOENT' ? 'git was not found: install it (Debian and Ubuntu: apt install git)' : `git could not be started: ${error.message}`
  return new AttemptError('Final', 'RunnerUnavailable', text)
}

/** True when the server wants other credentials than it got. */
export function isAuthenticationFailure(exit: Exit): boolean {
  return /Authentication failed|could not read (Username|Password)|terminal prompts disabled|returned error: 40[13]|HTTP Basic: Access denied/i.test(exit.stderr)
}

/** The failure behind git's words, for a person. */
export function classifyGitFailure(exit: Exit, session: GitSession, hasCredentials: boolean): AttemptError {
  const { failure } = classify(exit, session, hasCredentials)
  return new AttemptError(failure.class, failure.reason, session.redact(failure.message))
}

function classify(exit: Exit, session: GitSession, hasCredentials: boolean): AttemptError {
  const said = exit.stderr
  const where = quote(session.url.href)
  for (const [pattern, make] of FAILURES) {
    const match = pattern.exec(said)
    if (match) return make(where, match, session.url)
  }
  if (isAuthenticationFailure(exit)) {
    const text = hasCredentials
      ? `the git server refused the credentials for ${where}, or they do not reach this repository`
      : `the git server wants credentials for ${where}, or there is no such repository: name a Secret in credentialsSecretRef`
    return new AttemptError('Final', 'GitAuthenticationFailed', text)
  }
  return new AttemptError('Infrastructure', 'RunnerUnavailable', `git could not fetch ${where}: ${lastWords(said)}`)
}

type Make = (where: string, match: RegExpExecArray, url: URL) => AttemptError

const certificate = (where: string, why: string): AttemptError =>
  new AttemptError('Final', 'CredentialsInvalid', `the TLS certificate of the git server for ${where} is not trusted: ${why}; for a CA of your own put its certificate as ca.crt into the Secret named in credentialsSecretRef`)

const unreachable = (where: string, why: string): AttemptError => new AttemptError('Infrastructure', 'RunnerUnavailable', `the git server for ${where} cannot be reached: ${why}`)

const FAILURES: readonly (readonly [RegExp, Make])[] = [
  [/No space left on device|Disk quota exceeded/i, () => new AttemptError('Infrastructure', 'RunnerUnavailable', "the worker's disk is full")],
  [/SSL certificate problem: ([^\n]*)/i, (where, match) => certificate(where, match[1]!.trim())],
  [/((?:server )?certificate verification failed[^\n]*|SSL: no alternative certificate[^\n]*|error setting certificate [^\n]*|certificate subject name[^\n]*)/i, (where, match) => certificate(where, match[1]!.trim())],
  [/Could not resolve (?:host|proxy):? ?([^\n;]*)/i, (where, match) => unreachable(where, `no address is known for ${quote(match[1]!.trim())}`)],
  [/(Connection refused|Failed to connect to [^\n]*|Couldn't connect to server|Connection timed out|Operation timed out|Operation too slow[^\n]*|Connection reset[^\n]*|Empty reply from server|early EOF|RPC failed[^\n]*|returned error: (?:5\d\d|429))/i, (where, match) => unreachable(where, match[1]!.trim())],
  [/unable to update url base from redirection|returned error: 30\d/i, (where) => new AttemptError('Final', 'RevisionNotFound', `the git server sends ${where} elsewhere, and credentials do not follow a redirect: write the final url into the job`)],
  [/repository '[^\n]*' not found|returned error: 404|not valid: is this a git repository/i, (where) => new AttemptError('Final', 'RevisionNotFound', `there is no git repository at ${where}`)],
  [/(?:fsck error|fatal: fsck|error: object [0-9a-f]+: )([^\n]*)/i, (where, match) => new AttemptError('Final', 'RevisionNotFound', `the repository at ${where} has objects that git refuses:${match[1]!.slice(0, 200)}`)],
  [/transport '([^']*)' not allowed/i, (where, match) => new AttemptError('Final', 'NotSupported', `the git server sends ${where} to the transport ${quote(match[1]!)}, which is not allowed`)],
]

/** The last telling line of what git said. */
export function lastWords(text: string): string {
  const lines = text.trim().split('\n')
  const line = lines.findLast((candidate) => /^(fatal|error|remote):/.test(candidate)) ?? lines.at(-1) ?? ''
  const clean = quote(line.replace(/^(fatal|error): /, '')).slice(1, -1)
  return clean === '' ? 'it gave no reason' : clean
}
