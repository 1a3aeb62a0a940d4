/** Which program this is. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The release of this program, for example "0.1.0". */
export function readOwnVersion(): string {
  // package.json lies beside src/, in a checkout and in what is built.
  return String((JSON.parse(readFileSync(join(import.meta.dirname, '..', '..', 'package.json'), 'utf8')) as { version: string }).version)
}

/** Name and release, as stores record who wrote to them. */
export function programName(): string {
  return `mlops-apiserver ${readOwnVersion()}`
}
