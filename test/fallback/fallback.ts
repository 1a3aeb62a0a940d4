/** A real kube-apiserver that serves the CustomResourceDefinition, with the webhook beside it on loopback. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { encodeJson } from '../../src/api/codec.ts'
import { fallbackDefinition, remainderPolicy } from '../../src/commands/manifests/crd.ts'
import { isObject, type JsonObject } from '../../src/api/object.ts'
import { resources } from '../../src/resources/index.ts'
import { REMAINDER_ANNOTATION } from '../../src/webhook/remainder.ts'
import { startControlPlane, type ControlPlane } from '../control-plane/control-plane.ts'

const LAUNCHER = join(import.meta.dirname, '..', '..', 'src', 'launch.mjs')

/** The control plane, the webhook's process, and what it says. */
export interface Fallback extends AsyncDisposable {
  readonly plane: ControlPlane
  readonly webhookUrl: string
  /** Ends the webhook, and starts it again on the same port. */
  stopWebhook(): Promise<void>
  startWebhook(): Promise<void>
}

/** Where objects are. */
export const JOBS = (version: string, name = ''): string => `/apis/mlops.dev/${version}/namespaces/default/notebookvalidationjobs${name === '' ? '' : `/${name}`}`

/** Starts all of it: definition, policy and its binding as the manifests have them, but for the webhook's address. */
export async function startFallback(): Promise<Fallback> {
  const stack = new AsyncDisposableStack()
  try {
    const plane = stack.use(await startControlPlane())
    let webhook = await launch(plane, 0)
    const { port } = new URL(webhook.url)
    stack.defer(() => webhook.end('SIGKILL'))
    await plane.install(resources.map((resource) => encodeJson(withUrl(fallbackDefinition(resource, { namespace: 'mlops-system', service: 'webhook' }), webhook.url, plane.pki.ca))))
    for (const policy of resources.flatMap(remainderPolicy)) await must(plane, `/apis/admissionregistration.k8s.io/v1/${policy.kind === 'ValidatingAdmissionPolicy' ? 'validatingadmissionpolicies' : 'validatingadmissionpolicybindings'}`, policy)
    await untilEnforced(plane)
    const owned = stack.move()
    return {
      plane,
      webhookUrl: webhook.url,
      stopWebhook: () => webhook.end('SIGKILL'),
      async startWebhook() {
        webhook = await launch(plane, Number(port))
      },
      [Symbol.asyncDispose]: () => owned.disposeAsync(),
    }
  } catch (error) {
    await stack.disposeAsync()
    throw error
  }
}

async function must({ send }: ControlPlane, path: string, body: JsonObject): Promise<void> {
  const { status, text } = await send('POST', path, { body: encodeJson(body) })
  if (status !== 201) throw new Error(`${path}: ${text}`)
}

// A kube-apiserver takes a new policy to heart some moments after it was created.
async function untilEnforced({ send }: ControlPlane): Promise<void> {
  const probe = { apiVersion: 'mlops.dev/v1', kind: 'NotebookValidationJob', metadata: { name: 'probe' }, spec: { notebook: { git: { url: 'https://git.example/nb.git', revision: 'main' }, path: 'a.ipynb' }, suspend: true } }
  await send('POST', JOBS('v1'), { body: probe })
  const body = { metadata: { annotations: { [REMAINDER_ANNOTATION]: '{}' } } }
  for (let i = 0; i < 600; i++) {
    const { status } = await send('PATCH', `${JOBS('v1', 'probe')}?dryRun=All`, { body, type: 'application/merge-patch+json' })
    if (status === 422) return void (await send('DELETE', JOBS('v1', 'probe')))
    await sleep(100)
  }
  throw new Error('the policy is not enforced')
}

function withUrl(definition: JsonObject, url: string, ca: string): JsonObject {
  const { spec } = definition
  if (!isObject(spec)) throw new Error('the definition has no spec')
  const clientConfig = { url, caBundle: Buffer.from(ca).toString('base64') }
  return { ...definition, spec: { ...spec, conversion: { strategy: 'Webhook', webhook: { clientConfig, conversionReviewVersions: ['v1'] } } } }
}

/** Starts `mlops-apiserver webhook` with the arguments, and tells where it answers. Rejects when it ends before. */
export async function startWebhook(args: readonly string[]): Promise<{ readonly url: string; end(signal: NodeJS.Signals): Promise<void> }> {
  const child = spawn(process.execPath, [LAUNCHER, 'webhook', ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  const exited = once(child, 'exit')
  const url = await new Promise<string>((resolve, reject) => {
    let text = ''
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
      const found = /on (https:\S+)\n/.exec(text)?.[1]
      if (found) resolve(found)
    })
    child.once('exit', (code) => reject(new Error(`the webhook has ended with code ${code}: ${text}`)))
  })
  return {
    url,
    async end(signal) {
      child.kill(signal)
      await exited
    },
  }
}

function launch({ directory }: ControlPlane, port: number): ReturnType<typeof startWebhook> {
  const pki = join(directory, 'pki')
  return startWebhook(['--port', String(port), '--tls-cert-file', join(pki, 'server.crt'), '--tls-private-key-file', join(pki, 'server.key')])
}
