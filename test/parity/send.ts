/** One step of a scenario as an HTTP/1.1 request, and its answer as it came. */
import { request, type Agent } from 'node:https'
import type { Pki } from '../../src/commands/pki.ts'
import type { Step } from './scenarios.ts'

export interface Target {
  readonly url: string
  readonly pki: Pick<Pki, 'ca' | 'admin'>
  readonly agent: Agent
}

export interface RawAnswer {
  readonly status: number
  /** Lower-case name and value, repeated headers each for themselves. */
  readonly headers: readonly (readonly [string, string])[]
  readonly text: string
}

export type Variables = Readonly<Record<string, string>>

const substitute = (text: string, variables: Variables): string => text.replace(/\$\{(\w+)\}/g, (whole, name: string) => variables[name] ?? whole)

/** Sends a step with its variables filled in. */
export function sendStep(target: Target, step: Step, variables: Variables): Promise<RawAnswer> {
  const body = bodyOf(step, variables)
  const headers = headersOf(step, variables, body)
  const path = `${substitute(step.path, variables)}${queryOf(step, variables)}`
  return new Promise((resolve, reject) => {
    const { pki: { ca, admin }, agent } = target
    const { hostname, port } = new URL(target.url)
    // A stream is cut off by us, so its connection is its own.
    const connection = step.stream === undefined ? { agent } : { agent: false }
    const req = request({ hostname, port, method: step.m, path, headers, ca, cert: admin.cert, key: admin.key, ...connection }, (res) => {
      const chunks: Buffer[] = []
      const finish = () => {
        clearTimeout(timer)
        req.destroy()
        resolve({ status: res.statusCode ?? 0, headers: pairs(res.rawHeaders), text: Buffer.concat(chunks).toString('utf8') })
      }
      const idle = step.stream !== undefined && res.statusCode === 200 ? step.stream * 1000 : undefined
      let timer = idle === undefined ? undefined : setTimeout(finish, idle)
      res.on('data', (chunk: Buffer) => {
        chunks.push(chunk)
        if (idle === undefined) return
        clearTimeout(timer)
        timer = setTimeout(finish, idle)
      })
      res.on('end', () => {
        clearTimeout(timer)
        resolve({ status: res.statusCode ?? 0, headers: pairs(res.rawHeaders), text: Buffer.concat(chunks).toString('utf8') })
      })
      res.on('error', (error) => (step.stream === undefined ? reject(error) : undefined))
    })
    req.on('error', reject)
    req.end(body)
  })
}

function pairs(raw: readonly string[]): [string, string][] {
  const found: [string, string][] = []
  for (let i = 0; i + 1 < raw.length; i += 2) found.push([(raw[i] as string).toLowerCase(), raw[i + 1] as string])
  return found
}

function queryOf({ q }: Step, variables: Variables): string {
  if (!q) return ''
  const entries = (Array.isArray(q) ? q : Object.entries(q)) as readonly (readonly [string, unknown])[]
  return `?${new URLSearchParams(entries.map(([key, value]): [string, string] => [key, substitute(String(value), variables)])).toString()}`
}

// The texts of errors quote bodies, so they are written as the recorder wrote them: a blank after each comma and colon.
function bodyOf({ body }: Step, variables: Variables): Buffer | undefined {
  if (body === undefined || body === null) return undefined
  return Buffer.from(substitute(typeof body === 'string' ? body : spaced(body), variables))
}

function spaced(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(spaced).join(', ')}]`
  if (typeof value !== 'object' || value === null || isRawJson(value)) return ascii(JSON.stringify(value))
  return `{${Object.entries(value).map(([key, member]) => `${ascii(JSON.stringify(key))}: ${spaced(member)}`).join(', ')}}`
}

const isRawJson = (value: unknown): boolean => (JSON as unknown as { isRawJSON(value: unknown): boolean }).isRawJSON(value)

// oxlint-disable-next-line no-control-regex -- all that is not ASCII is escaped
const ascii = (text: string): string => text.replace(/[^\u0000-\u007f]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`)

function headersOf({ h = {}, ct = 'application/json' }: Step, variables: Variables, body: Buffer | undefined): Record<string, string | number> {
  const headers: Record<string, string | number> = { Accept: 'application/json' }
  for (const [name, value] of Object.entries(h)) headers[name] = substitute(value, variables)
  for (const name of Object.keys(headers)) if (headers[name] === '') delete headers[name]
  if (body !== undefined) {
    if (ct !== '' && headers['Content-Type'] === undefined) headers['Content-Type'] = ct
    headers['Content-Length'] = body.length
  }
  return headers
}
