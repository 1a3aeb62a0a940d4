/** A webhook that makes its own certificates: they are kept in a Secret that its replicas share, and their authority is written into the CustomResourceDefinitions. */
import { KubeStatusError, type KubeClient, type KubeJson } from '../../apiservice/kube-client.ts'
import { isObject, type Json, type JsonObject } from '../api/object.ts'
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { ServiceName } from '../config.ts'
import { renewServing, type KeyPair, type ServingPki } from './pki.ts'

/** What keeps them. */
export interface KeepOptions {
  readonly client: KubeClient
  /** The Service by which kube-apiserver reaches the webhook. */
  readonly service: ServiceName
  /** The Secret, which is there, in the namespace of the Service. */
  readonly secret: string
  /** Names of the definitions whose caBundle is kept right. */
  readonly definitions: readonly string[]
  readonly clock: Clock
  readonly log: Log
}

const LOOK_MS = 60_000
const RETRY_MS = 2000
const ATTEMPTS = 5

/** The certificate to serve with; made, and told to the definitions, where that is not done. Waits for a kube-apiserver that is away until the signal aborts. */
export async function firstCertificate(options: KeepOptions, signal: AbortSignal): Promise<KeyPair> {
  for (;;) {
    signal.throwIfAborted()
    try {
      return await refreshCertificate(options)
    } catch (err) {
      options.log.warn('the certificate cannot be kept yet', { err })
    }
    await options.clock.sleep(RETRY_MS, signal)
  }
}

/** Looks again and again until the signal aborts, renews what comes to its end, and hands on what another replica has renewed. */
export async function keepCertificate(options: KeepOptions, first: KeyPair, { use, signal }: { readonly use: (pair: KeyPair) => void; readonly signal: AbortSignal }): Promise<void> {
  const { clock, log } = options
  let last = first
  while (!signal.aborted) {
    await clock.sleep(LOOK_MS, signal).catch(() => {})
    if (signal.aborted) return
    try {
      const pair = await refreshCertificate(options)
      if (pair.cert !== last.cert) use(pair)
      last = pair
    } catch (err) {
      log.warn('the certificate cannot be kept; the one in use goes on', { err })
    }
  }
}

/** Reads the Secret, renews what must be renewed, and writes the authority where it is missing. Resolves to the serving certificate. */
export async function refreshCertificate(options: KeepOptions): Promise<KeyPair> {
  const { client, definitions } = options
  const { ca, server } = await refreshServing(options)
  const caBundle = Buffer.from(ca.cert).toString('base64')
  for (const name of definitions) {
    await change(client, `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${name}`, async (found) => {
      const written = withCaBundle(found, caBundle)
      return { result: undefined, ...(written && { written }) }
    })
  }
  return server
}

/** Reads the Secret and renews what must be renewed. */
export async function refreshServing({ client, service, secret, clock }: Pick<KeepOptions, 'client' | 'service' | 'secret' | 'clock'>): Promise<ServingPki> {
  const hosts = [`${service.name}.${service.namespace}.svc`, `${service.name}.${service.namespace}.svc.cluster.local`]
  return await change(client, `/api/v1/namespaces/${service.namespace}/secrets/${secret}`, async (found) => {
    const current = readPki(found)
    const pki = await renewServing(current, { hosts, clock })
    return { result: pki, ...(pki !== current && { written: { ...found, data: writePki(pki) } }) }
  })
}

// Reads, and writes unless nothing is to be written; begins anew when another one has written meanwhile.
async function change<T>(client: KubeClient, path: string, edit: (found: KubeJson) => Promise<{ readonly result: T; readonly written?: KubeJson }>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    const { result, written } = await edit(await client.request({ method: 'GET', path }))
    if (written === undefined) return result
    try {
      await client.request({ method: 'PUT', path, body: written })
      return result
    } catch (error) {
      if (!(error instanceof KubeStatusError) || error.code !== 409 || attempt === ATTEMPTS) throw error
    }
  }
}

const KEYS = { cert: 'tls.crt', key: 'tls.key', caCert: 'ca.crt', caKey: 'ca.key' } as const

function readPki({ data }: KubeJson): ServingPki | undefined {
  if (!isObject(data)) return undefined
  const text = (key: string): string => (typeof data[key] === 'string' ? Buffer.from(data[key], 'base64').toString('utf8') : '')
  const [cert, key, caCert, caKey] = [text(KEYS.cert), text(KEYS.key), text(KEYS.caCert), text(KEYS.caKey)]
  return cert && key && caCert && caKey ? { ca: { cert: caCert, key: caKey }, server: { cert, key } } : undefined
}

function writePki({ ca, server }: ServingPki): JsonObject {
  const base64 = (text: string): string => Buffer.from(text).toString('base64')
  return { [KEYS.cert]: base64(server.cert), [KEYS.key]: base64(server.key), [KEYS.caCert]: base64(ca.cert), [KEYS.caKey]: base64(ca.key) }
}

// The definition with the bundle; undefined when it has it, or is converted without a webhook.
function withCaBundle(definition: KubeJson, caBundle: string): KubeJson | undefined {
  const path = ['spec', 'conversion', 'webhook', 'clientConfig']
  const clientConfig = path.reduce<Json | undefined>((at, key) => (isObject(at) ? at[key] : undefined), definition as JsonObject)
  if (!isObject(clientConfig) || clientConfig.caBundle === caBundle) return undefined
  return put(definition as JsonObject, [...path, 'caBundle'], caBundle)
}

function put(object: JsonObject, [key = '', ...rest]: readonly string[], value: Json): JsonObject {
  const below = object[key]
  return { ...object, [key]: rest.length === 0 ? value : put(isObject(below) ? below : {}, rest, value) }
}
