/**
 * Real etcd of three minors, made once and kept outside the checkout: 3.5 and 3.6 are built from their Go modules, 3.4 is Debian's package.
 */
import { execFile } from 'node:child_process'
import { access, mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** The versions that the store is tested with. Never 3.5.0 to 3.5.2: they lose data in a crash. */
export const ETCD_VERSIONS = ['3.4.23', '3.5.35', '3.6.16'] as const
export type EtcdVersion = (typeof ETCD_VERSIONS)[number]

const DEBIAN_VERSION = '3.4.23'
const CACHE = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'mlops-apiserver-test')

/** The path of an etcd binary; made when it is not there, which takes about a minute and the registries. */
export async function etcdBinary(version: EtcdVersion): Promise<string> {
  const binary = join(CACHE, `etcd-${version}`, 'etcd')
  if (await exists(binary)) return binary
  await mkdir(CACHE, { recursive: true })
  // Made beside its place and renamed into it: two test files may be making it at once, and one may be killed half way.
  const scratch = await mkdtemp(join(CACHE, `making-etcd-${version}-`))
  try {
    await (version === DEBIAN_VERSION ? unpackDebian : buildModule)(version, scratch)
    await mkdir(join(CACHE, `etcd-${version}`), { recursive: true })
    await rename(join(scratch, 'etcd'), binary)
  } finally {
    await rm(scratch, { recursive: true, force: true })
  }
  return binary
}

async function buildModule(version: string, directory: string): Promise<void> {
  const options = { cwd: directory, env: { ...process.env, CGO_ENABLED: '0', GOFLAGS: '-buildvcs=false' } }
  await writeFile(join(directory, 'go.mod'), 'module etcd-for-tests\n\ngo 1.26.0\n')
  await run('go', ['get', '-tool', `go.etcd.io/etcd/server/v3@v${version}`], options)
  await run('go', ['build', '-trimpath', '-ldflags', '-s -w', '-o', join(directory, 'etcd'), 'go.etcd.io/etcd/server/v3'], options)
}

/** Unpacks the package without installing it: no service may start on the machine. */
async function unpackDebian(version: string, directory: string): Promise<void> {
  await run('apt-get', ['-o', 'APT::Sandbox::User=root', 'download', 'etcd-server'], { cwd: directory })
  const archive = (await readdir(directory)).find((name) => name.startsWith(`etcd-server_${version}`))
  if (archive === undefined) throw new Error(`the distribution's etcd-server is not version ${version}`)
  await run('dpkg', ['-x', archive, join(directory, 'root')], { cwd: directory })
  await rename(join(directory, 'root', 'usr', 'bin', 'etcd'), join(directory, 'etcd'))
}

const exists = (path: string): Promise<boolean> => access(path).then(() => true, () => false)
