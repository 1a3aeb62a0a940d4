/**
 * Stories of requests and answers that a person can read: each `*.txt` here, against a server of its own. `node test/transcripts/transcripts.test.ts
 * --rewrite` writes the answers anew, to be read in the diff.
 *
 * A story is prose (lines with `#`) and exchanges: `>>> METHOD path`, headers, an empty line and a body; `----`; the status, the headers that matter and
 * the body. Identifiers, revisions, times and continue tokens are named in the order in which they come, and a request may use the names. Three headers
 * are not sent: `Show: .a.b .c` picks what is written of the answer, `Events: n` reads n events of a watch, `Anonymous: yes` leaves the certificate out.
 * managedFields are left out.
 */
import assert from 'node:assert/strict'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { test } from 'node:test'
import { startServer, type Answer, type Harness } from '../harness.ts'
import { openHttp2 } from '../http-client.ts'

const REWRITE = process.argv.includes('--rewrite')
const HEADERS_SHOWN = ['warning', 'retry-after', 'location', 'allow'] as const

interface Exchange {
  readonly prose: readonly string[]
  readonly request: readonly string[]
}

/** The prose and requests of a story; what follows its last exchange is prose too. */
function parseStory(text: string): Exchange[] {
  const exchanges: { prose: string[]; request: string[] }[] = []
  let current = { prose: [] as string[], request: [] as string[] }
  let part: 'prose' | 'request' | 'answer' = 'prose'
  for (const line of text.split('\n')) {
    if (part === 'request' ? line === '----' : /^(#|>>> )/.test(line)) {
      if (part === 'answer') {
        exchanges.push(current)
        current = { prose: [], request: [] }
      }
      part = line === '----' ? 'answer' : line.startsWith('#') ? 'prose' : 'request'
      if (part === 'answer') continue
    }
    if (part === 'prose' && line.startsWith('#')) current.prose.push(line)
    if (part === 'request') current.request.push(line)
  }
  return [...exchanges, current]
}

/** Names for values that differ from run to run. */
class Names {
  readonly #names = new Map<string, string>()
  readonly #values = new Map<string, string>()
  readonly #counts = new Map<string, number>()

  /** The name of a value, `<kind1>` for the first of its kind. */
  of(kind: string, value: string): string {
    const known = this.#names.get(`${kind} ${value}`)
    if (known !== undefined) return known
    const count = (this.#counts.get(kind) ?? 0) + 1
    this.#counts.set(kind, count)
    const name = `<${kind}${count}>`
    this.#names.set(`${kind} ${value}`, name)
    this.#values.set(name, value)
    return name
  }

  /** A request's text with the values. */
  resolve(text: string): string {
    return text.replaceAll(/<(rv|uid|token)\d+>/g, (name) => this.#values.get(name) ?? assert.fail(`${name} has not come yet`))
  }

  /** A value with names. */
  normalize(value: unknown, key = ''): unknown {
    if (Array.isArray(value)) return value.map((item) => this.normalize(item))
    if (typeof value === 'object' && value !== null) {
      return Object.fromEntries(Object.entries(value).filter(([name]) => name !== 'managedFields').map(([name, member]) => [name, this.normalize(member, name)]))
    }
    if (typeof value !== 'string' || value === '') return value
    if (key === 'resourceVersion') return this.of('rv', value)
    if (key === 'continue') return this.of('token', value)
    return value
      .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g, (uid) => this.of('uid', uid))
      .replaceAll(/(?<=ResourceVersion in the precondition \(|ResourceVersion in record \()\d+/g, (revision) => this.of('rv', revision))
      .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, '<time>')
  }
}

interface Request {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

function parseRequest(lines: readonly string[]): Request {
  const [first = '', ...rest] = lines
  const [, method = '', path = ''] = first.split(' ')
  const gap = rest.indexOf('')
  const headers = (gap < 0 ? rest : rest.slice(0, gap)).map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()])
  return { method, path, headers: Object.fromEntries(headers), body: gap < 0 ? '' : rest.slice(gap + 1).join('\n').trim() }
}

async function ask(harness: Harness, { method, path, headers, body }: Request): Promise<Answer> {
  const { show: _show, events, anonymous, ...sent } = headers
  if (events === undefined) return harness.send(method, path, { headers: sent, ...(body === '' ? {} : { body, type: sent['content-type'] ?? 'application/json' }), anonymous: anonymous === 'yes' })
  using client = openHttp2(harness.server.url, { ca: harness.pki.ca, cert: harness.pki.admin.cert, key: harness.pki.admin.key })
  const watch = client.watch(path, sent)
  const seen: unknown[] = []
  for await (const event of watch) if (seen.push(event) === Number(events)) break
  return { status: 200, headers: {}, text: '', body: seen }
}

/** What is written of a body: all of it, or the picked fields, a line each. */
function showBody(body: unknown, show: string | undefined): string[] {
  if (typeof body === 'string') return body.trimEnd().split('\n')
  if (show === undefined) return JSON.stringify(body, undefined, 2).split('\n')
  const fields = show.split(' ')
  const values = Array.isArray(body) ? body : [body]
  return values.flatMap((value) => {
    const lines = fields.map((field) => `${field}: ${JSON.stringify(pick(value, field))}`)
    return Array.isArray(body) ? [lines.join('  ')] : lines
  })
}

function pick(value: unknown, path: string): unknown {
  return path.split('.').slice(1).reduce<unknown>((at, name) => {
    if (Array.isArray(at)) return at.map((item) => (item as Record<string, unknown> | undefined)?.[name])
    return typeof at === 'object' && at !== null ? (at as Record<string, unknown>)[name] : undefined
  }, value)
}

async function tell(harness: Harness, story: string): Promise<string> {
  const names = new Names()
  const written: string[] = []
  for (const { prose, request } of parseStory(story)) {
    written.push(...prose)
    if (request.length === 0) continue
    const sent = parseRequest(names.resolve(request.join('\n')).split('\n'))
    const answer = await ask(harness, sent)
    const headers = HEADERS_SHOWN.flatMap((name) => (answer.headers[name] === undefined ? [] : [`${name}: ${String(answer.headers[name])}`]))
    const { headers: { show } } = sent
    written.push(...request, '----', String(answer.status), ...headers, ...showBody(names.normalize(answer.body), answer.status < 300 ? show : undefined), '')
  }
  return `${written.join('\n').trimEnd()}\n`
}

const stories = globSync('*.txt', { cwd: import.meta.dirname }).toSorted()

test('there are stories', () => assert.ok(stories.length >= 8))

for (const name of stories) {
  test(basename(name, '.txt'), async () => {
    await using harness = await startServer()
    const file = join(import.meta.dirname, name)
    const recorded = readFileSync(file, 'utf8')
    const told = await tell(harness, recorded)
    if (REWRITE) writeFileSync(file, told)
    else assert.equal(told, recorded)
  })
}
