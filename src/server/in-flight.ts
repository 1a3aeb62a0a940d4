/** How many requests may be under way. upstream: apiserver/pkg/server/filters/maxinflight.go */
import type { RequestHandler } from 'express'
import { respondText } from './respond.ts'

/** upstream: apiserver/pkg/server/config.go: MaxRequestsInFlight, MaxMutatingRequestsInFlight */
const MAX_READING = 400
const MAX_MUTATING = 200
const MUTATING = new Set(['POST', 'PUT', 'PATCH', 'DELETE'])

/** Answers 429 with Retry-After beyond the limits. Watches do not count. `isLongRunning` tells them. */
export function limitInFlight(isLongRunning: (target: string) => boolean, limits = { reading: MAX_READING, mutating: MAX_MUTATING }): RequestHandler {
  const current = { reading: 0, mutating: 0 }
  return (req, res, next) => {
    if (isLongRunning(req.url)) return next()
    const kind = MUTATING.has(req.method) ? 'mutating' : 'reading'
    if (current[kind] >= limits[kind]) {
      res.setHeader('Retry-After', '1')
      respondText(res, 429, 'Too many requests, please try again later.\n')
      return
    }
    current[kind]++
    res.once('close', () => current[kind]--)
    next()
  }
}
