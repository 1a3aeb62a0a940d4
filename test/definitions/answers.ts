/** The manifests of this folder and answers to them, in a form in which answers can be compared. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { checkDefinition } from '../../src/api/definition-check.ts'
import type { FieldValidation } from '../../src/api/definition-decode.ts'
import type { Status } from '../../src/api/status.ts'

/** What is answered to the create of a manifest: a failure, or Success. */
export interface Answer {
  readonly status: Status
  readonly warnings?: readonly string[]
}

/** A document of a file of this folder; its name is the comment that it begins with. */
export interface Manifest {
  readonly file: string
  readonly place: number
  readonly name: string
  readonly text: string
}

/** Success as it is written here: what else upstream answers is the definition itself. */
export const SUCCESS = { metadata: {}, status: 'Success' } as Status

/** Rules that do not compile: what the parser says of syntax is in other words. */
export const REFUSED_RULES = 'refused-rules.yaml'

/** Rules that upstream estimates to cost too much: ours are taken, and stopped when they do. */
export const COSTS = 'costs.yaml'

/** The documents of one file, in order. */
export function readManifests(file: string): Manifest[] {
  const documents = readFileSync(join(import.meta.dirname, file), 'utf8').split(/^---\n/m)
  return documents.map((text, place) => ({ file, place, text, name: /^# (.*)/.exec(text)?.[1] ?? '' }))
}

/** The files of manifests. */
export const manifestFiles: readonly string[] = readdirSync(import.meta.dirname).filter((name) => name.endsWith('.yaml'))

/** Recorded answers to the manifests of a file: `name.json` under fieldValidation Strict, `name.warn.json` under Warn. */
export function readAnswers(file: string): Answer[] {
  return JSON.parse(readFileSync(join(import.meta.dirname, file), 'utf8')) as Answer[]
}

/** Our answer. */
export function ourAnswer({ text }: Manifest, fieldValidation: FieldValidation): Answer {
  const { status, warnings } = checkDefinition(Buffer.from(text), 'application/yaml', fieldValidation)
  return { status: status.status === 'Success' ? SUCCESS : status, warnings }
}

/** Go's maps have no order, and nor have errors and warnings that come from walking one. */
export function normalAnswer({ status, warnings = [] }: Answer): unknown {
  if (status.code !== 422) return { status, warnings: [...warnings].sort() }
  const { message = '', details, ...rest } = status
  const causes = [...(details?.causes ?? [])].sort((a, b) => `${a.field} ${a.message}`.localeCompare(`${b.field} ${b.message}`))
  const [lead] = message.split(' is invalid')
  return { ...rest, lead, characters: message.length, details: { ...details, causes }, warnings: [...warnings].sort() }
}
