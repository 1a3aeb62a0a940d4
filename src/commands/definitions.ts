/** `definitions check`, `definitions print`. */
import { checkDefinition, type DefinitionCheck } from '../api/definition-check.ts'
import { DEFINITION_KIND, type FieldValidation } from '../api/definition-decode.ts'
import { printDefinition } from '../api/definition-print.ts'
import { encodeYaml } from '../api/codec.ts'
import { invalid, type Status } from '../api/status.ts'
import { resources } from '../resources/index.ts'
import { readDefinitionManifests } from './definition-documents.ts'
import { faultsOf, notServed } from './load-definitions.ts'

/** Where a command writes. */
export interface Streams {
  readonly out: NodeJS.WritableStream
  readonly err: NodeJS.WritableStream
}

/** What `definitions check` is given: files and folders, and how it prints. */
export interface CheckOptions extends Streams {
  readonly files: readonly string[]
  readonly output: 'text' | 'json'
  /** Strict is what kubectl asks a server for, Warn what a server does unless it is asked. */
  readonly fieldValidation: FieldValidation
}

/**
 * Checks manifests as a kube-apiserver does when they are created. As JSON: a list of the Status of each document, in order. Resolves to
 * the exit code: 1 when one of them is refused or cannot be read.
 */
export async function runDefinitionsCheck({ files, output, fieldValidation, out, err }: CheckOptions): Promise<number> {
  const { documents, faults, notes } = await readDefinitionManifests(files)
  for (const line of [...notes, ...faults]) err.write(`${line}\n`)
  const checks = documents.map(({ place, text, mediaType, foreign }) => ({ place, foreign, check: checkDefinition(Buffer.from(text), mediaType, fieldValidation) }))
  if (output === 'json') out.write(`${JSON.stringify(checks.map(({ check }) => statusOf(check)), null, 2)}\n`)
  else for (const { place, foreign, check } of checks) out.write(foreign === undefined ? describe(place, check) : `${place}: ${foreign}\n`)
  return faults.length > 0 || checks.some(({ check }) => statusOf(check).status !== 'Success') ? 1 : 0
}

// What only we refuse is a failure of the same form, with a text that names who refuses.
function statusOf({ name, status, refused }: DefinitionCheck): Status {
  if (status.status !== 'Success' || refused.length === 0) return status
  return invalid(DEFINITION_KIND, name, refused.map(({ field, text }) => ({ type: 'FieldValueInvalid', field, body: notServed(text) }))).status
}

function describe(place: string, check: DefinitionCheck): string {
  const faults = faultsOf(check)
  const warnings = check.warnings.map((text) => `${place}: warning: ${text}\n`).join('')
  if (faults.length === 0) return `${place}: ${check.name} is good\n${warnings}`
  return faults.map((fault) => `${place}: ${fault}\n`).join('') + warnings
}

/** Prints our own definitions as CustomResourceDefinition manifests. Resolves to the exit code. */
export async function runDefinitionsPrint({ out }: Pick<Streams, 'out'>): Promise<number> {
  out.write(resources.map(({ definition }) => encodeYaml(printDefinition(definition))).join('---\n'))
  return 0
}
