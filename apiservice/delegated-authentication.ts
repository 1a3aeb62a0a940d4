/**
 * Who is calling, as the cluster says: by the headers of its front proxy, else by a client certificate of its authority, else by a bearer token.
 * upstream: apiserver/pkg/authentication/authenticatorfactory/delegating.go: DelegatingAuthenticatorConfig.New
 */
import type { Clock } from '../src/base/clock.ts'
import type { Log } from '../src/base/log.ts'
import type { Authenticator } from './auth.ts'
import { AUTHENTICATION_CONFIG, readAuthenticationConfig, type AuthenticationConfig } from './authentication-config.ts'
import { clientCertificate } from './client-certificate.ts'
import type { KubeClient, KubeJson } from './kube-client.ts'
import { reflect } from './reflect.ts'
import { requestHeader } from './request-header.ts'
import { tokenReview } from './token-review.ts'

export interface DelegatedAuthentication {
  readonly authenticate: Authenticator
  /** PEM of all authorities whose client certificates count for something now; "" before the ConfigMap was read. */
  clientCa(): string
  /** Resolves when the ConfigMap was read for the first time. */
  readonly synced: Promise<void>
}

export interface DelegatedAuthenticationOptions {
  readonly client: KubeClient
  readonly clock: Clock
  readonly log: Log
  /** Ends the watch of the ConfigMap. */
  readonly signal: AbortSignal
  /** Called with each change of `clientCa()`. */
  onClientCa?(clientCa: string): void
}

/** Follows the ConfigMap and authenticates as it says; while kube-apiserver is away, and when the ConfigMap is deleted, as it said last. */
export function delegateAuthentication(options: DelegatedAuthenticationOptions): DelegatedAuthentication {
  const { client, clock, log, signal } = options
  const byToken = tokenReview({ client, clock })
  let trusted: { readonly text: string; readonly clientCa: string; readonly ways: readonly Authenticator[] } = { text: '', clientCa: '', ways: [byToken] }
  const synced = Promise.withResolvers<void>()
  const { namespace, name } = AUTHENTICATION_CONFIG
  const read = (object: KubeJson | undefined): void => {
    if (!object) return log.warn('kube-apiserver has no ConfigMap to tell whom to trust', { namespace, name })
    try {
      const config = readAuthenticationConfig((object.data ?? {}) as KubeJson)
      const text = JSON.stringify(config)
      if (text !== trusted.text) {
        const before = trusted.clientCa
        trusted = { text, clientCa: clientCaOf(config), ways: [...waysOf(config, clock), byToken] }
        if (trusted.clientCa !== before) options.onClientCa?.(trusted.clientCa)
        log.info('whom to trust was read', { namespace, name })
      }
      synced.resolve()
    } catch (err) {
      log.error('the ConfigMap that tells whom to trust cannot be used, and what it said before goes on', { namespace, name, err })
    }
  }
  void reflect({
    path: `/api/v1/namespaces/${namespace}/configmaps`,
    fieldSelector: `metadata.name=${name}`,
    replace: ([object]) => read(object),
    change: (object, gone) => read(gone ? undefined : object),
  }, { client, clock, log, signal })
  return {
    async authenticate(request) {
      for (const way of trusted.ways) {
        const user = await way(request)
        if (user) return user
      }
      return undefined
    },
    clientCa: () => trusted.clientCa,
    synced: synced.promise,
  }
}

function waysOf({ requestHeader: trust, clientCa }: AuthenticationConfig, clock: Clock): Authenticator[] {
  return [...(trust ? [requestHeader(trust, { clock })] : []), ...(clientCa === undefined ? [] : [clientCertificate({ ca: clientCa, clock })])]
}

function clientCaOf({ requestHeader: trust, clientCa }: AuthenticationConfig): string {
  return [trust?.ca, clientCa].filter((pem) => pem !== undefined).map((pem) => `${pem.trim()}\n`).join('')
}
