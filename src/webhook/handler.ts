/** The HTTP side of the webhook: `POST /convert`, health and metrics. */
import type { HttpHandler, HttpRequest, HttpResponse } from '../../apiservice/serving.ts'
import { decodeText } from '../api/decode-text.ts'
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { MetricSet } from '../base/metrics.ts'
import type { ConvertObject } from './convert-object.ts'
import { answerReview, BadReview } from './review.ts'

/** A review may hold many objects, each as large as a request to kube-apiserver may be. */
export const MAX_REVIEW_BYTES = 32 * 1024 * 1024
/** Bytes of all bodies that are being received: who calls is not known before. */
const MAX_PENDING_BYTES = 128 * 1024 * 1024

export interface WebhookOptions {
  readonly convert: ConvertObject
  /** Once it aborts, `/readyz` fails; everything else goes on. */
  readonly stopping: AbortSignal
  readonly metrics: MetricSet
  readonly clock: Clock
  readonly log: Log
}

/** An answer as text. */
interface Answer {
  readonly status: number
  readonly type: string
  readonly body: string
}

class HttpError extends Error {
  readonly status: number
  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/** The handler of a webhook. What fails is answered with a text that kube-apiserver shows to its client. */
export function createWebhook(options: WebhookOptions): HttpHandler {
  const { log, metrics, stopping } = options
  const convert = openConvert(options)
  const route = async (request: HttpRequest): Promise<Answer> => {
    const [path] = (request.url ?? '/').split('?')
    switch (path) {
      case '/convert':
        return await convert(request)
      case '/healthz':
      case '/livez':
        return text(200, 'ok')
      case '/readyz':
        return stopping.aborted ? text(500, 'the webhook is stopping\n') : text(200, 'ok')
      case '/metrics':
        return { status: 200, type: metrics.contentType, body: await metrics.text() }
      default:
        return text(404, '404 page not found\n')
    }
  }
  return (request, response) => {
    route(request).catch((error: unknown) => answerOf(error, log)).then((answer) => send(request, response, answer)).catch((err: unknown) => {
      log.debug('an answer could not be sent', { err })
      response.destroy()
    })
  }
}

function answerOf(error: unknown, log: Log): Answer {
  if (error instanceof HttpError) return text(error.status, `${error.message}\n`)
  if (error instanceof BadReview) return text(400, `${error.message}\n`)
  log.error('a review could not be answered', { err: error })
  return text(500, 'the review could not be answered: see the log of the webhook\n')
}

function text(status: number, body: string): Answer {
  return { status, type: 'text/plain; charset=utf-8', body }
}

function send(request: HttpRequest, response: HttpResponse, { status, type, body }: Answer): void {
  if (response.destroyed || response.writableEnded) return
  response.statusCode = status
  response.setHeader('content-type', type)
  response.setHeader('content-length', Buffer.byteLength(body))
  if (status === 429) response.setHeader('retry-after', '1')
  // What was not read must not be taken for the next request.
  if (!request.complete && request.httpVersionMajor === 1) response.setHeader('connection', 'close')
  ;(response as { end(text: string): void }).end(body)
}

function openConvert({ convert, metrics, clock, log }: WebhookOptions): (request: HttpRequest) => Promise<Answer> {
  const seconds = metrics.histogram({
    name: 'mlops_conversion_review_duration_seconds', help: 'Time from the whole body of a review to its answer.', labels: ['result'] as const,
    buckets: [0.0005, 0.001, 0.002, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5],
  })
  const objects = metrics.counter({ name: 'mlops_conversion_review_objects_total', help: 'Objects converted for kube-apiserver.', labels: [] as const })
  const read = openBodies()
  return async (request) => {
    if (request.method !== 'POST') throw new HttpError(405, 'a review is sent with POST')
    const type = (request.headers['content-type'] ?? 'application/json').split(';')[0]?.trim().toLowerCase()
    if (type !== 'application/json') throw new HttpError(415, 'a review is application/json')
    const body = await read(request)
    const begun = clock.monotonic()
    const { body: answer, converted, failure } = answerReview(decodeText(body), convert)
    seconds.observe({ result: failure === undefined ? 'success' : 'failure' }, (clock.monotonic() - begun) / 1000)
    if (converted !== undefined) objects.add({}, converted)
    if (failure !== undefined) log.warn('a conversion has failed', { reason: failure })
    return { status: 200, type: 'application/json', body: answer }
  }
}

// Reads bodies whole while there is room for them.
function openBodies(): (request: HttpRequest) => Promise<Buffer> {
  let pending = 0
  return async (request) => {
    if (Number(request.headers['content-length'] ?? 0) > MAX_REVIEW_BYTES) throw tooLarge()
    const chunks: Buffer[] = []
    let size = 0
    try {
      for await (const chunk of request.iterator({ destroyOnReturn: false })) {
        const { length } = chunk as Buffer
        size += length
        pending += length
        if (size > MAX_REVIEW_BYTES) throw tooLarge()
        if (pending > MAX_PENDING_BYTES) throw new HttpError(429, 'too many reviews are being received')
        chunks.push(chunk as Buffer)
      }
    } finally {
      pending -= size
    }
    return Buffer.concat(chunks)
  }
}

function tooLarge(): HttpError {
  return new HttpError(413, `a review may have ${MAX_REVIEW_BYTES} bytes`)
}
