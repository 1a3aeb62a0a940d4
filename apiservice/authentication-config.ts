/**
 * Whom kube-apiserver says an aggregated server shall trust: its ConfigMap `extension-apiserver-authentication` in kube-system.
 * upstream: apiserver/pkg/authentication/request/headerrequest/requestheader_controller.go; pkg/controlplane/controller/clusterauthenticationtrust
 */
import { parseAuthorities } from './peer-certificate.ts'
import type { KubeJson } from './kube-client.ts'
import type { RequestHeaderTrust } from './request-header.ts'

/** Name and namespace of the ConfigMap. */
export const AUTHENTICATION_CONFIG = { namespace: 'kube-system', name: 'extension-apiserver-authentication' } as const

/** What it says; a part that is absent is not trusted. */
export interface AuthenticationConfig {
  /** PEM: who signs the client certificates of users. */
  readonly clientCa?: string
  readonly requestHeader?: RequestHeaderTrust
}

/** Reads the ConfigMap's `data`. Throws when a certificate or list in it cannot be read: half of a trust is none. */
export function readAuthenticationConfig(data: KubeJson): AuthenticationConfig {
  const clientCa = readBundle(data, 'client-ca-file')
  const ca = readBundle(data, 'requestheader-client-ca-file')
  return {
    ...(clientCa === undefined ? {} : { clientCa }),
    ...(ca === undefined ? {} : {
      requestHeader: {
        ca,
        allowedNames: readList(data, 'requestheader-allowed-names'),
        usernameHeaders: readList(data, 'requestheader-username-headers'),
        uidHeaders: readList(data, 'requestheader-uid-headers'),
        groupHeaders: readList(data, 'requestheader-group-headers'),
        extraHeaderPrefixes: readList(data, 'requestheader-extra-headers-prefix'),
      },
    }),
  }
}

function readBundle(data: KubeJson, key: string): string | undefined {
  const text = readText(data, key)
  if (text.trim() === '') return undefined
  if (parse(key, () => parseAuthorities(text)).length === 0) throw new Error(`${key} holds no certificate`)
  return text
}

function readList(data: KubeJson, key: string): readonly string[] {
  const text = readText(data, key)
  if (text === '') return []
  const list = parse(key, () => JSON.parse(text) as unknown)
  if (list === null) return []
  // An empty name would be every header, or every certificate.
  if (!Array.isArray(list) || !list.every((item) => typeof item === 'string' && item.trim() !== '')) throw new Error(`${key} is no list of names`)
  return list as string[]
}

function readText(data: KubeJson, key: string): string {
  const value = Object.hasOwn(data, key) ? data[key] : ''
  if (typeof value !== 'string') throw new Error(`${key} is no text`)
  return value
}

function parse<T>(key: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw new Error(`${key} cannot be read: ${error instanceof Error ? error.message : String(error)}`, { cause: error })
  }
}
