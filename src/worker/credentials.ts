/** The Secret of a git source, read into what the clone step can use. */
import { AttemptError } from './attempt-failure.ts'

/** What a Secret offers for git over http(s). `authorizations` are values of the Authorization header, tried in order. */
export type Credentials = {
  readonly authorizations: readonly string[]
  /** The file of CA certificates, PEM. */
  readonly caCertificate?: string
  /** Values that must never appear in a text. */
  readonly secrets: readonly string[]
}

/** A clone without a Secret. */
export const NO_CREDENTIALS: Credentials = { authorizations: [], secrets: [] }

const MAX_VALUE_BYTES = 64 * 1024
const basic = (user: string, password: string): string => `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`

/**
 * Reads a Secret's `data` (base64): `username` with `password` or `token`, `token` or `bearerToken` alone, `ca.crt`.
 * Throws AttemptError with CredentialsInvalid for what is incomplete or cannot be used, NotSupported for ssh keys.
 */
export function readCredentials(secretName: string, data: Readonly<Record<string, string>>): Credentials {
  const value = (key: string): string | undefined => (Object.hasOwn(data, key) ? decode(secretName, key, data[key]!) : undefined)
  const [username, password, token, bearerToken] = ['username', 'password', 'token', 'bearerToken'].map(value)
  const caCertificate = readCertificate(secretName, data)
  const secret = password ?? token
  const authorizations: string[] = []
  if (username !== undefined) {
    if (secret === undefined) throw invalid(secretName, 'has a username but neither password nor token')
    if (username.includes(':')) throw invalid(secretName, 'has a username with a colon, which HTTP cannot send')
    authorizations.push(basic(username, secret))
  } else if (bearerToken !== undefined) {
    authorizations.push(`Bearer ${headerToken(secretName, 'bearerToken', bearerToken)}`)
  } else if (token !== undefined) {
    // servers differ: some take a token as bearer, some only as the password of any user
    authorizations.push(`Bearer ${headerToken(secretName, 'token', token)}`, basic('x-access-token', token))
  } else if (password !== undefined) {
    throw invalid(secretName, 'has a password but no username')
  }
  if (authorizations.length === 0 && caCertificate === undefined) {
    if (Object.hasOwn(data, 'ssh-privatekey') || Object.hasOwn(data, 'identity')) {
      throw new AttemptError('Final', 'NotSupported', `Secret "${secretName}" has a key for ssh; this worker clones over http and https only`)
    }
    throw invalid(secretName, 'has none of the keys username, password, token, bearerToken, ca.crt')
  }
  const values = [password, token, bearerToken].filter((text) => text !== undefined)
  return { authorizations, secrets: values, ...(caCertificate === undefined ? {} : { caCertificate }) }
}

function readCertificate(secretName: string, data: Readonly<Record<string, string>>): string | undefined {
  if (!Object.hasOwn(data, 'ca.crt')) return undefined
  const text = Buffer.from(data['ca.crt']!, 'base64').toString('utf8')
  if (text.trim() === '') return undefined
  if (!text.includes('-----BEGIN CERTIFICATE-----')) throw invalid(secretName, 'has a ca.crt that is not a PEM certificate')
  return text
}

function decode(secretName: string, key: string, encoded: string): string | undefined {
  const bytes = Buffer.from(encoded, 'base64')
  if (bytes.length > MAX_VALUE_BYTES) throw invalid(secretName, `has a ${key} that is too long`)
  // made with `echo` and not `echo -n`, the usual mistake; a line break cannot be part of a password that HTTP sends
  const text = bytes.toString('utf8').replace(/[\r\n]+$/, '')
  if (/[\0\r\n]/.test(text)) throw invalid(secretName, `has a ${key} with a line break or a zero byte`)
  return text === '' ? undefined : text
}

function headerToken(secretName: string, key: string, text: string): string {
  if (!/^[\x21-\x7e]+$/.test(text)) throw invalid(secretName, `has a ${key} with characters that HTTP cannot send`)
  return text
}

function invalid(secretName: string, text: string): AttemptError {
  return new AttemptError('Final', 'CredentialsInvalid', `Secret "${secretName}" ${text}`)
}

/** `text` without the secret values, in any of the forms that git or a server may echo. */
export function redact(text: string, credentials: Credentials): string {
  const headers = credentials.authorizations.map((value) => value.slice(value.indexOf(' ') + 1))
  const forms = [...credentials.secrets, ...headers].flatMap((secret) => [secret, encodeURIComponent(secret), Buffer.from(secret).toString('base64')])
  const longestFirst = [...new Set(forms)].filter((form) => form.length > 0).sort((a, b) => b.length - a.length)
  return longestFirst.reduce((all, form) => all.replaceAll(form, '***'), text)
}
