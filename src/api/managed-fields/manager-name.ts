/** The name under which a write that is no apply owns fields. upstream: apiserver/pkg/endpoints/handlers/create.go managerOrUserAgent */
import { isPrintable } from '../go-text.ts'

const MAX_BYTES = 128

/** The fieldManager parameter if there is one, else the client's program: its User-Agent up to the first slash. */
export function managerName(fieldManager: string, userAgent: string): string {
  if (fieldManager !== '') return fieldManager
  let name = ''
  for (const char of userAgent.split('/', 1)[0] ?? '') {
    if (!isPrintable(char)) continue
    if (Buffer.byteLength(name) + Buffer.byteLength(char) > MAX_BYTES) break
    name += char
  }
  return name
}
