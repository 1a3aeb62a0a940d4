/** The name under which a write that is no apply owns fields. upstream: apiserver/pkg/endpoints/handlers/create.go managerOrUserAgent */
import { isPrintable } from '../go-text.ts'

const MAX_BYTES = 128

/** The fieldManager parameter if there is one, else the client's program: its User-Agent, in which each character is a byte, up to the first slash. */
export function managerName(fieldManager: string, userAgent: string): string {
  if (fieldManager !== '') return fieldManager
  let name = ''
  for (const char of Buffer.from(userAgent.split('/', 1)[0] ?? '', 'latin1').toString('utf8')) {
    if (!isPrintable(char)) continue
    if (Buffer.byteLength(name) + Buffer.byteLength(char) > MAX_BYTES) break
    name += char
  }
  return name
}
