/** A small smart-HTTP git server over one real repository, for tests. */
import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import https from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createGunzip } from 'node:zlib'

const ENVIRONMENT = { PATH: '/usr/local/bin:/usr/bin:/bin', GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1', GIT_AUTHOR_DATE: '2026-01-01T00:00:00Z', GIT_COMMITTER_DATE: '2026-01-01T00:00:00Z' }

/** A repository in a temporary folder. */
export type Repository = { readonly directory: string; git(...args: string[]): string; commit(files: Record<string, string | { link: string }>): string; remove(): void }

/** Makes an empty repository whose branch is main. */
export function makeRepository(): Repository {
  const directory = mkdtempSync(join(tmpdir(), 'nvj-repository-'))
  const git = (...args: string[]): string =>
    execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.test', ...args], { cwd: directory, env: ENVIRONMENT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim()
  git('init', '--quiet', '--initial-branch=main')
  const commit = (files: Record<string, string | { link: string }>): string => {
    for (const [path, content] of Object.entries(files)) {
      mkdirSync(dirname(join(directory, path)), { recursive: true })
      if (typeof content === 'string') writeFileSync(join(directory, path), content)
      else symlinkSync(content.link, join(directory, path))
    }
    git('add', '--all')
    git('commit', '--quiet', '--allow-empty', '-m', 'change')
    return git('rev-parse', 'HEAD')
  }
  return { directory, git, commit, remove: () => rmSync(directory, { recursive: true, force: true }) }
}

/** What a request carried, and an answer that replaces the repository's. */
export type Gate = (request: http.IncomingMessage) => { status: number; headers?: Record<string, string> } | undefined

/** Serves a repository at `url`; `gate` may answer first. `authorizations` are the headers seen. */
export async function serveRepository(repository: Repository, gate: Gate = () => undefined, tls?: { cert: string; key: string }): Promise<{ url: string; authorizations: (string | undefined)[]; close(): Promise<void> }> {
  const authorizations: (string | undefined)[] = []
  const answer = (request: http.IncomingMessage, response: http.ServerResponse): void => {
    authorizations.push(request.headers.authorization)
    const gated = gate(request)
    if (gated) return void response.writeHead(gated.status, gated.headers).end()
    answerGit(repository.directory, request, response)
  }
  const server = tls ? https.createServer(tls, answer) : http.createServer(answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `${tls ? 'https' : 'http'}://127.0.0.1:${(server.address() as AddressInfo).port}/r.git`
  return { url, authorizations, close: () => new Promise((resolve) => (server.close(() => resolve()), server.closeAllConnections())) }
}

function answerGit(directory: string, request: http.IncomingMessage, response: http.ServerResponse): void {
  const url = new URL(request.url ?? '/', 'http://localhost')
  const advertise = url.pathname === '/r.git/info/refs'
  if (!advertise && url.pathname !== '/r.git/git-upload-pack') return void response.writeHead(404).end()
  const protocol = request.headers['git-protocol']
  const environment = { ...ENVIRONMENT, ...(typeof protocol === 'string' ? { GIT_PROTOCOL: protocol } : {}) }
  const child = spawn('git', ['upload-pack', '--stateless-rpc', ...(advertise ? ['--http-backend-info-refs'] : []), directory], { env: environment, stdio: ['pipe', 'pipe', 'ignore'] })
  response.writeHead(200, { 'content-type': `application/x-git-upload-pack-${advertise ? 'advertisement' : 'result'}`, 'cache-control': 'no-cache' })
  if (advertise) response.write('001e# service=git-upload-pack\n0000')
  child.stdout.pipe(response)
  child.stdin.on('error', () => {})
  if (advertise) child.stdin.end()
  else (request.headers['content-encoding'] === 'gzip' ? request.pipe(createGunzip()) : request).pipe(child.stdin)
}
