/** Real Kubernetes commands, built once from their Go modules and kept outside the checkout. */
import { execFile } from 'node:child_process'
import { access, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** The release whose answers ours are compared with. */
export const KUBERNETES_VERSION = '1.36.3'

/** A command under `k8s.io/kubernetes/cmd`. */
export type KubernetesCommand = 'kube-apiserver' | 'kube-controller-manager' | 'kube-scheduler' | 'kubelet' | 'kubectl'

const CACHE = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'mlops-apiserver-test')
const OUTPUT_BYTES = 64 * 1024 * 1024

/** The path of a command's binary; made when it is not there, which takes five minutes for the first one and the registries. */
export async function kubernetesBinary(command: KubernetesCommand, version = KUBERNETES_VERSION): Promise<string> {
  const binary = join(CACHE, `kubernetes-${version}`, command)
  if (await exists(binary)) return binary
  await mkdir(CACHE, { recursive: true })
  // Made beside its place and renamed into it: another run may be making it too, and one may be killed half way.
  const scratch = await mkdtemp(join(CACHE, `making-${command}-${version}-`))
  try {
    await build(command, version, scratch)
    await mkdir(join(CACHE, `kubernetes-${version}`), { recursive: true })
    await rename(join(scratch, command), binary)
  } finally {
    await rm(scratch, { recursive: true, force: true })
  }
  return binary
}

async function build(command: KubernetesCommand, version: string, directory: string): Promise<void> {
  const options = { cwd: directory, maxBuffer: OUTPUT_BYTES, env: { ...process.env, CGO_ENABLED: '0', GOFLAGS: '-buildvcs=false -p=2' } }
  // The machine may be at other work too.
  const go = async (...args: string[]) => (await run('nice', ['-n', '19', 'go', ...args], options)).stdout
  const source = `k8s.io/kubernetes/cmd/${command}`
  await writeFile(join(directory, 'go.mod'), 'module controlplane\n\ngo 1.26.0\n')
  const { GoMod } = JSON.parse(await go('mod', 'download', '-json', `k8s.io/kubernetes@v${version}`)) as { GoMod: string }
  await writeFile(join(directory, 'go.mod'), moduleFile(source, version, await readFile(GoMod, 'utf8')))
  await go('mod', 'tidy')
  const [major, minor] = version.split('.')
  const flags = Object.entries({ gitVersion: `v${version}`, gitMajor: major, gitMinor: minor }).map(([name, value]) => `-X k8s.io/component-base/version.${name}=${value}`)
  await go('build', '-trimpath', '-ldflags', `-s -w ${flags.join(' ')}`, '-o', join(directory, command), source)
}

/** Kubernetes replaces its staging modules by folders of its repository; here they are those released with it. */
function moduleFile(source: string, version: string, upstream: string): string {
  const staging = [...upstream.matchAll(/^\t(?:replace )?(k8s\.io\/\S+) => \.\/staging\//gm)].map(([, name]) => name as string)
  const minor = version.replace(/^1\./, '0.')
  return [
    'module controlplane', 'go 1.26.0', 'godebug default=go1.26', `tool ${source}`, `require k8s.io/kubernetes v${version}`,
    ...staging.map((name) => `replace ${name} => ${name} v${minor}`), '',
  ].join('\n\n')
}

const exists = (path: string): Promise<boolean> => access(path).then(() => true, () => false)
