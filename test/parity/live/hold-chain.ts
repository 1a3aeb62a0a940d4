/** Holds a generated conversation with one server. */
import { request } from 'node:https'
import { setTimeout as sleep } from 'node:timers/promises'
import { decodeJson, decodeYaml, encodeJson, encodeYaml } from '../../../src/api/codec.ts'
import { applyMergePatch } from '../../../src/api/merge-patch.ts'
import { isObject, type Json } from '../../../src/api/object.ts'
import { normalAnswer, Names, parseBody } from '../normal-form.ts'
import type { Recorded } from '../scenarios.ts'
import { sendStep, type RawAnswer, type Target } from '../send.ts'
import { toStep, type Chain, type ChainStep } from './chain.ts'

/** Streams that are held end when for so long nothing has come after the last request. */
const SETTLE_MS = 500
/** A cache knows by then what was written before. */
const CACHE_MS = 150
/** No answer takes so long. */
const ANSWER_TIMEOUT_MS = 20_000

/** The answers, each in its normal form, in the order of the steps. `id` is the name of the namespace, which is made for it. */
export async function holdChain(target: Target, { steps }: Chain, id: string): Promise<Recorded[]> {
  const first = await sendStep(target, { m: 'POST', path: '/api/v1/namespaces', body: { apiVersion: 'v1', kind: 'Namespace', metadata: { name: id } } }, {})
  if (first.status !== 201) throw new Error(`namespace ${id}: ${first.text}`)
  const variables: Record<string, string> = { ID: id, rv_first: resourceVersion(first.text) }
  const answers: RawAnswer[] = []
  const held = new Map<number, HeldStream>()
  for (const [i, step] of steps.entries()) {
    // What a cache answers may be old.
    if (step.q?.some(([name, value]) => name === 'resourceVersion' && value === '0')) await sleep(CACHE_MS)
    if (step.hold) {
      const stream = openStream(target, step, variables)
      held.set(i, stream)
      await stream.opened
      continue
    }
    const answer = await inTime(sendStep(target, toStep(step, mergedBody(step, variables)), variables))
    remember(step, answer, variables)
    answers[i] = answer
  }
  for (const [i, stream] of held) answers[i] = await stream.end()
  const names = new Names()
  const normal: Recorded[] = []
  // The streams are named last: it is the requests that were made one after the other.
  const order = [...steps.keys()].sort((a, b) => Number(held.has(a)) - Number(held.has(b)) || a - b)
  for (const i of order) {
    const answer = answers[i] as RawAnswer
    normal[i] = normalAnswer(answer, bodyOf(answer, steps[i] as ChainStep), names)
  }
  return normal
}

/** An answer that does not come is an answer too: the other server's may be the same. */
async function inTime(answer: Promise<RawAnswer>): Promise<RawAnswer> {
  const given = new AbortController()
  const failed = (error: unknown): RawAnswer => ({ status: 0, headers: [], text: String(error) })
  const late = sleep(ANSWER_TIMEOUT_MS, undefined, { signal: given.signal }).then(() => failed('no answer in time'), failed)
  try {
    return await Promise.race([answer.catch(failed), late])
  } finally {
    given.abort()
  }
}

function bodyOf({ status, text, headers }: RawAnswer, { stream, h }: ChainStep): unknown {
  if (headers.some(([name, value]) => name === 'content-type' && value.includes('protobuf'))) return undefined
  if (stream === undefined && h?.Accept?.includes('yaml') && !text.startsWith('{')) return yamlBody(text)
  if (stream === undefined || status !== 200) return parseBody(text, false, exactNumber)
  const frames = parseBody(text, true, exactNumber)
  return Array.isArray(frames) ? frames.map((frame) => withoutProgress(frame as Json)) : frames
}

// What is in it, since some of its order depends on chance; and the text, should it not be what our encoder makes of that.
function yamlBody(text: string): unknown {
  try {
    const { value } = decodeYaml(text)
    return encodeYaml(value) === text ? parseBody(encodeJson(value), false, exactNumber) : text
  } catch {
    return text
  }
}

// Up to where a stream has come depends on what others write.
function withoutProgress(frame: Json): Json {
  if (!isObject(frame) || frame.type !== 'BOOKMARK') return frame
  const drop = (value: Json | undefined): Json => {
    if (Array.isArray(value)) return value.map(drop)
    if (!isObject(value)) return value ?? null
    return Object.fromEntries(Object.entries(value).filter(([name]) => name !== 'resourceVersion').map(([name, member]) => [name, drop(member)]))
  }
  return drop(frame)
}

// What is no small integer is compared as it is written: 1.0 is another number than 1, and int64 has more digits than a float.
function exactNumber(_key: string, value: unknown, { source = '' }: { source?: string } = {}): unknown {
  return typeof value === 'number' && !(Number.isSafeInteger(value) && /^-?\d+$/.test(source)) ? `number ${source}` : value
}

const resourceVersion = (text: string): string => (JSON.parse(text) as { metadata: { resourceVersion: string } }).metadata.resourceVersion

function mergedBody({ from, json }: ChainStep, variables: Readonly<Record<string, string>>): Json | undefined {
  if (from === undefined) return undefined
  const text = variables[`object_${from}`]
  return applyMergePatch(text === undefined ? {} : decodeJson(text).value, json ?? {})
}

function remember({ object, list }: ChainStep, { text }: RawAnswer, variables: Record<string, string>): void {
  if (object === undefined && !list) return
  const body = parseBody(text, false) as Json
  if (!isObject(body) || !isObject(body.metadata)) return
  const { metadata } = body
  const save = (name: string, value: Json | undefined) => {
    if (typeof value === 'string') variables[name] = value
  }
  if (list) {
    save('continue', metadata.continue)
    save('rv_list', metadata.resourceVersion)
  } else if (typeof metadata.uid === 'string' && body.kind !== 'Scale') {
    save(`rv_${object}`, metadata.resourceVersion)
    save(`uid_${object}`, metadata.uid)
    save(`object_${object}`, text)
  }
}

interface HeldStream {
  /** It has been answered: what happens from now on is seen. */
  readonly opened: Promise<unknown>
  end(): Promise<RawAnswer>
}

function openStream({ url, pki: { ca, admin } }: Target, step: ChainStep, variables: Readonly<Record<string, string>>): HeldStream {
  const { hostname, port } = new URL(url)
  const filled = (text: string): string => text.replace(/\$\{(\w+)\}/g, (whole, name: string) => variables[name] ?? whole)
  const query = new URLSearchParams((step.q ?? []).map(([name, value]): [string, string] => [name, filled(value)]))
  const chunks: Buffer[] = []
  let last = performance.now()
  let ended = false
  let answer: Omit<RawAnswer, 'text'> = { status: 0, headers: [] }
  const req = request({ hostname, port, path: `${filled(step.path)}?${query}`, headers: { Accept: 'application/json', ...step.h }, ca, cert: admin.cert, key: admin.key, agent: false })
  const opened = new Promise<void>((resolve) => {
    req.on('response', (res) => {
      const headers: [string, string][] = []
      for (let i = 0; i + 1 < res.rawHeaders.length; i += 2) headers.push([(res.rawHeaders[i] as string).toLowerCase(), res.rawHeaders[i + 1] as string])
      answer = { status: res.statusCode ?? 0, headers }
      res.on('data', (chunk: Buffer) => {
        chunks.push(chunk)
        last = performance.now()
      })
      res.on('end', () => (ended = true))
      res.on('error', () => (ended = true))
      resolve()
    })
    req.on('error', () => {
      ended = true
      resolve()
    })
  })
  req.end()
  return {
    opened,
    async end() {
      last = performance.now()
      while (!ended && performance.now() - last < SETTLE_MS) await sleep(50)
      req.destroy()
      return { ...answer, text: Buffer.concat(chunks).toString('utf8') }
    },
  }
}
