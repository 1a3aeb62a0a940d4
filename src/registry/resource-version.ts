/** resourceVersions as clients send them. upstream: apiserver/pkg/storage/api_object_versioner.go */
import { goQuote, rawError } from '../api/status.ts'

const MAX_UINT64 = 2n ** 64n - 1n

/** The text of Go's strconv.ParseUint error for a text, or undefined when it parses. */
export function parseUintError(text: string): string | undefined {
  if (!/^[0-9]+$/.test(text)) return `strconv.ParseUint: parsing ${goQuote(text)}: invalid syntax`
  if (BigInt(text) > MAX_UINT64) return `strconv.ParseUint: parsing ${goQuote(text)}: value out of range`
  return undefined
}

/** The number of a valid resourceVersion text; values beyond 2^53 stay above every revision of a store. */
export function toRevision(text: string): number {
  return Number(BigInt(text))
}

/** Parses the resourceVersion of a get or watch: 0 for "" and "0"; throws the raw 500 that upstream answers for a bad one. */
export function parseResourceVersion(text: string): number {
  if (text === '') return 0
  const error = parseUintError(text)
  if (error) throw rawError(`resourceVersion: Invalid value: ${goQuote(text)}: ${error}`)
  return toRevision(text)
}
