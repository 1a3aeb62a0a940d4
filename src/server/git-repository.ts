/**
 * A git repository over smart HTTP, read-only: what serves the sample notebooks. Dumb HTTP cannot do a shallow clone.
 * Protocol: git's gitprotocol-http; `git upload-pack` does the work.
 */
import { spawn } from 'node:child_process'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import type { Request, RequestHandler, Response } from 'express'
import { respondText } from './respond.ts'

// Clients may ask for any commit that is there.
const UPLOAD_PACK = ['-c', 'uploadpack.allowAnySHA1InWant=true', 'upload-pack', '--strict', '--stateless-rpc']

/** Serves the bare repository in `directory` under `path` (for example "/samples.git"); everything else goes on. */
export function serveGitRepository(path: string, directory: string): RequestHandler {
  return async (req, res, next) => {
    if (!req.path.startsWith(`${path}/`)) return next()
    const rest = req.path.slice(path.length)
    if (req.method === 'GET' && rest === '/info/refs' && req.query.service === 'git-upload-pack') await advertise(directory, res)
    else if (req.method === 'POST' && rest === '/git-upload-pack') await uploadPack(directory, req, res)
    else respondText(res, 404, '404 page not found\n')
  }
}

function start(res: Response, type: string): void {
  res.statusCode = 200
  res.setHeader('Content-Type', `application/x-git-upload-pack-${type}`)
  res.setHeader('Cache-Control', 'no-cache')
}

async function advertise(directory: string, res: Response): Promise<void> {
  start(res, 'advertisement')
  res.write('001e# service=git-upload-pack\n0000')
  const git = spawn('git', [...UPLOAD_PACK, '--advertise-refs', directory], { stdio: ['ignore', 'pipe', 'ignore'] })
  await pipeline(git.stdout, res)
}

async function uploadPack(directory: string, req: Request, res: Response): Promise<void> {
  start(res, 'result')
  const git = spawn('git', [...UPLOAD_PACK, directory], { stdio: ['pipe', 'pipe', 'ignore'] })
  // git ends its input as soon as it has what it needs.
  const input = req.headers['content-encoding'] === 'gzip' ? pipeline(req, createGunzip(), git.stdin) : pipeline(req, git.stdin)
  await Promise.all([input.catch(() => {}), pipeline(git.stdout, res)])
}
