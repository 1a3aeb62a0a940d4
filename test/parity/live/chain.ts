/** A generated conversation: what is sent to both servers, in a form that can be written down and made smaller. */
import { encodeInOrder } from '../../../src/api/codec.ts'
import type { Json } from '../../../src/api/object.ts'
import type { Step } from '../scenarios.ts'

/** One request. The texts hold variables (`${ID}`, `${rv_a}`, …) as those of recorded scenarios do. */
export interface ChainStep {
  readonly m: string
  readonly path: string
  readonly q?: readonly (readonly [string, string])[]
  readonly h?: Readonly<Record<string, string>>
  readonly ct?: string
  /** The body as JSON. */
  readonly json?: Json
  /** The body as a text, when it is no JSON or not as we write it. */
  readonly text?: string
  /** The body is what the server last answered as the object of this letter, with `json` merged into it. */
  readonly from?: string
  /** The answer is the object of this letter: its resourceVersion, uid and whole text become variables. */
  readonly object?: string
  /** The answer is a list: its continue token and resourceVersion become variables. */
  readonly list?: boolean
  /** Read a stream until nothing has come for so many seconds. */
  readonly stream?: number
  /** The stream is read while the next requests are made, and ends with the chain. */
  readonly hold?: boolean
}

export interface Chain {
  /** What it was made from. */
  readonly seed: number
  readonly steps: readonly ChainStep[]
}

/** The step as it is sent; `merged` is the body of one with `from`. */
export function toStep({ m, path, q, h, ct, json, text, stream }: ChainStep, merged?: Json): Step {
  const body = merged !== undefined ? encodeInOrder(merged) : json === undefined ? text : encodeInOrder(json)
  return {
    m, path,
    ...(q === undefined ? {} : { q }),
    ...(h === undefined ? {} : { h }),
    ...(ct === undefined ? {} : { ct }),
    ...(body === undefined ? {} : { body }),
    ...(stream === undefined ? {} : { stream }),
  }
}

/** A chain as a scenario of scenarios.json, one line a step; `from` has no place there and is kept as it is. */
export function printScenario(id: string, chain: Chain): string {
  const steps = chain.steps.map((step) => {
    const { from, json, object, list, hold } = step
    const { body, ...rest } = toStep(step)
    const save = { ...(object === undefined ? {} : { [`rv_${object}`]: 'metadata.resourceVersion', [`uid_${object}`]: 'metadata.uid' }), ...(list ? { continue: 'metadata.continue', rv_list: 'metadata.resourceVersion' } : {}) }
    const head = JSON.stringify({ ...rest, ...(from === undefined ? {} : { from }), ...(hold ? { hold } : {}), ...(Object.keys(save).length > 0 ? { save } : {}) })
    return body === undefined ? head : `${head.slice(0, -1)},"body":${json === undefined ? JSON.stringify(body) : body}}`
  })
  return `{"id": "${id}", "steps": [\n  ${steps.join(',\n  ')}\n]}`
}
