/**
 * `/healthz`, `/livez` and `/readyz`: named checks, all together or one by one.
 * upstream: apiserver/pkg/server/healthz/healthz.go: InstallPathHandler, handleRootHealth
 */
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { goQuote, sortKeys } from '../api/status.ts'
import { answerText, type Answer } from './answer.ts'

/** A check; it fails by throwing. The reason goes to the log only. */
export interface HealthCheck {
  readonly name: string
  check(): Promise<void> | void
}

/** The checks of each endpoint. */
export type HealthChecks = Readonly<Record<'healthz' | 'livez' | 'readyz', readonly HealthCheck[]>>

/** A check that never fails: the process answers. */
export const ping: HealthCheck = { name: 'ping', check() {} }

/** A check that takes longer has failed. */
const CHECK_MS = 3000

/** Answers a health path; undefined for any other path and for a check that does not exist. */
export type Health = (path: string, query: URLSearchParams) => Promise<Answer | undefined>

/** The health endpoints of a server. */
export function createHealth(checks: HealthChecks, around: { readonly clock: Clock; readonly log: Log }): Health {
  return async (path, query) => {
    const [, endpoint = '', ...rest] = path.replace(/\/+$/, '').split('/')
    if (endpoint !== 'healthz' && endpoint !== 'livez' && endpoint !== 'readyz') return undefined
    const name = rest.join('/')
    if (name === '') return await checkAll(endpoint, checks[endpoint], query, around)
    const check = checks[endpoint].find((c) => c.name === name)
    return check && (await checkOne(check, around.clock))
  }
}

async function checkOne(check: HealthCheck, clock: Clock): Promise<Answer> {
  const failure = await run(check, clock)
  return failure === undefined ? answerText(200, 'ok') : answerText(500, `internal server error: ${failure}\n`)
}

async function checkAll(endpoint: string, checks: readonly HealthCheck[], query: URLSearchParams, around: { readonly clock: Clock; readonly log: Log }): Promise<Answer> {
  const excluded = new Set(query.getAll('exclude'))
  const failures = await Promise.all(checks.map((check) => (excluded.has(check.name) ? undefined : run(check, around.clock))))
  let output = ''
  let failed = false
  for (const [i, { name }] of checks.entries()) {
    const failure = failures[i]
    if (excluded.delete(name)) output += `[+]${name} excluded: ok\n`
    else if (failure === undefined) output += `[+]${name} ok\n`
    else {
      output += `[-]${name} failed: reason withheld\n`
      failed = true
      around.log.warn('health check failed', { endpoint, check: name, reason: failure })
    }
  }
  if (excluded.size > 0) output += `warn: some health checks cannot be excluded: no matches for ${sortKeys([...excluded]).map(goQuote).join(',')}\n`
  if (failed) return answerText(500, `${output}${endpoint} check failed\n`)
  return answerText(200, query.has('verbose') ? `${output}${endpoint} check passed\n` : 'ok')
}

// The reason of a failure, or undefined.
async function run({ check }: HealthCheck, clock: Clock): Promise<string | undefined> {
  const settled = new AbortController()
  try {
    const late = clock.sleep(CHECK_MS, settled.signal).then(() => {
      throw new Error(`no answer in ${CHECK_MS} ms`)
    })
    late.catch(() => {})
    await Promise.race([check(), late])
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  } finally {
    settled.abort()
  }
}
