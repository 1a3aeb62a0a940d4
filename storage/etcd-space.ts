/** How much room etcd has: its quota is told only by its metrics, what it uses and whether it has given up by its status. */
import { request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import type { Clock } from '../src/base/clock.ts'
import type { BackendStatus } from './backend.ts'
import type { EtcdTls } from './etcd-member.ts'

/** What a member says of its database. */
export interface DatabaseSize {
  readonly dbSize: string
  readonly dbSizeInUse: string
  /** Alarms, among others. */
  readonly errors: readonly string[]
}

export interface QuotaOptions {
  readonly endpoints: readonly string[]
  readonly tls?: EtcdTls
  readonly clock: Clock
}

/** A member may come back with another quota. */
const KEPT_MS = 5 * 60_000
const TIMEOUT_MS = 1000
/** Metrics of etcd are some hundred kB. */
const MOST_BYTES = 16 * 1024 * 1024
/** Of the quota, what work that can wait leaves to others. */
const RESERVE = 0.2
/** Of the quota: so near to it, free pages within the file are no help, for etcd compares the size of the file. */
const BRIM = 0.02

/** Asks for the quota at most every five minutes. Resolves to undefined where no member tells it: it may have none, or show its metrics elsewhere. */
export function openQuota({ endpoints, tls, clock }: QuotaOptions): () => Promise<number | undefined> {
  let asked: { readonly at: number; readonly quota: Promise<number | undefined> } | undefined
  const ask = async (): Promise<number | undefined> => {
    for (const endpoint of endpoints) {
      const quota = await readMetrics(`${endpoint}/metrics`, tls).then(parseQuota, () => undefined)
      if (quota !== undefined) return quota
    }
    return undefined
  }
  return () => {
    const now = clock.monotonic()
    if (!asked || now - asked.at > KEPT_MS) asked = { at: now, quota: ask() }
    return asked.quota
  }
}

/** The quota in the text of etcd's metrics, in bytes. */
export function parseQuota(text: string): number | undefined {
  const quota = Number(/^etcd_server_quota_backend_bytes (\S+)$/m.exec(text)?.[1])
  return Number.isFinite(quota) && quota > 0 ? quota : undefined
}

/** The room of a database; undefined where nobody knows its quota and it takes writes. */
export function spaceOf({ dbSize, dbSizeInUse, errors }: DatabaseSize, quota: number | undefined): BackendStatus['space'] {
  const size = Number(dbSize)
  const isFull = errors.some((error) => error.includes('NOSPACE'))
  if (quota === undefined && !isFull) return undefined
  const limitBytes = quota ?? size
  const left = Math.max(0, limitBytes - size)
  const freeBytes = left < limitBytes * BRIM ? left : Math.max(left, limitBytes - Number(dbSizeInUse))
  return { limitBytes, freeBytes: isFull ? 0 : freeBytes, reserveBytes: Math.ceil(limitBytes * RESERVE) }
}

function readMetrics(url: string, tls: EtcdTls | undefined): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { agent: false, timeout: TIMEOUT_MS, ...tls }
    const request = (url.startsWith('https:') ? requestHttps : requestHttp)(url, options, (response) => {
      const parts: Buffer[] = []
      let bytes = 0
      response.on('data', (part: Buffer) => {
        bytes += part.length
        if (bytes > MOST_BYTES) request.destroy(new Error('too long'))
        else parts.push(part)
      })
      response.on('error', reject)
      response.on('end', () => (response.statusCode === 200 ? resolve(Buffer.concat(parts).toString()) : reject(new Error(`${url} answers ${response.statusCode}`))))
    })
    request.on('timeout', () => request.destroy(new Error('no answer in time')))
    request.on('error', reject)
    request.end()
  })
}
