/**
 * What kube-apiserver answers to the creation of a CustomResourceDefinition.
 * upstream: apiextensions-apiserver/pkg/registry/customresourcedefinition/strategy.go, pkg/apis/apiextensions/validation/validation.go
 */
import type { BodyMediaType } from './decode-object.ts'
import { approvalErrors } from './definition-approval.ts'
import { decodeDefinition, DEFINITION_KIND, type DecodedDefinition, type FieldValidation } from './definition-decode.ts'
import type { RefusedRule } from './definition-defaults.ts'
import { formatWarnings } from './definition-formats.ts'
import { internalSpec } from './definition-internal.ts'
import type { DefinitionProps, VersionProps } from './definition-props.ts'
import { specFaults } from './definition-spec.ts'
import { readDefinition } from './definition.ts'
import { validateObjectMeta } from './metadata-validate.ts'
import { subdomainName } from './names.ts'
import type { JsonObject } from './object.ts'
import type { ResourceDefinition } from './resource.ts'
import { badRequest, fieldError, invalid, StatusError, type FieldError, type Status } from './status.ts'

/** The answer to one manifest. */
export interface DefinitionCheck {
  /** metadata.name, "" where there is none. */
  readonly name: string
  /** What upstream answers: a failure with its texts, or Success. */
  readonly status: Status
  readonly warnings: readonly string[]
  /** CEL rules that upstream may take and we do not. */
  readonly refused: readonly RefusedRule[]
  /** The definition, when upstream takes it. */
  readonly definition: ResourceDefinition | undefined
  /** Its spec.conversion.strategy. */
  readonly strategy: string
}

const SUCCESS: Status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success' }

/** Checks one document. Never throws for what stands in it. */
export function checkDefinition(bytes: Uint8Array, mediaType: BodyMediaType, fieldValidation: FieldValidation): DefinitionCheck {
  try {
    return checkDecoded(decodeDefinition(bytes, mediaType, fieldValidation))
  } catch (error) {
    // The walks over a schema recurse: what is too deep for them is too deep for anyone.
    const status = error instanceof RangeError ? badRequest('the definition nests too deeply').status : error instanceof StatusError ? error.status : undefined
    if (status === undefined) throw error
    return { name: '', status, warnings: [], refused: [], definition: undefined, strategy: '' }
  }
}

function checkDecoded({ definition: manifest, warnings }: DecodedDefinition): DefinitionCheck {
  const { errors, refused } = definitionFaults(manifest)
  const name = manifest.metadata.name ?? ''
  const strategy = manifest.spec.conversion.strategy ?? ''
  if (errors.length > 0) return { name, status: invalid(DEFINITION_KIND, name, errors).status, warnings, refused, definition: undefined, strategy }
  const definition = readDefinition(manifest as unknown as JsonObject)
  return { name, status: SUCCESS, warnings: [...new Set([...warnings, ...formatWarnings(internalSpec(manifest))])], refused, definition, strategy }
}

/** upstream: ValidateCustomResourceDefinition */
function definitionFaults(manifest: DefinitionProps): { errors: FieldError[]; refused: readonly RefusedRule[] } {
  const spec = internalSpec(manifest)
  const { namespace: _, generation: __, ...metadata } = manifest.metadata
  const wanted = `${spec.names.plural ?? ''}.${spec.group}`
  const nameRule = (name: string, prefix: boolean): string[] => [
    ...subdomainName(name, prefix),
    ...(name === wanted ? [] : ['must be spec.names.plural+"."+spec.group']),
  ]
  const { errors, refused } = specFaults(spec)
  const preserve = 'cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead'
  return {
    errors: [
      ...validateObjectMeta(metadata, { namespaced: false, nameRule }),
      ...errors,
      ...storedErrors(manifest.spec.versions ?? []),
      ...approvalErrors(spec.group, metadata.annotations ?? {}),
      ...(spec.preserveUnknownFields ? [fieldError('FieldValueInvalid', 'spec.preserveUnknownFields', true, preserve)] : []),
    ],
    refused,
  }
}

// The server puts the first storage version into status.storedVersions, and then misses any other.
function storedErrors(versions: readonly VersionProps[]): FieldError[] {
  const storage = versions.filter((version) => version.storage).map((version) => version.name ?? '')
  const [first] = storage
  const error = (value: unknown, detail: string): FieldError => fieldError('FieldValueInvalid', 'status.storedVersions', value, detail)
  if (first === undefined) return [error(null, 'must have at least one stored version')]
  const at = versions.findIndex((version) => version.name === first || (first === '' && version.name === undefined))
  const others = versions.filter((version, i) => version.storage && i !== at)
  return others.map(({ name = '' }) => error([first], `must have the storage version ${name}`))
}
