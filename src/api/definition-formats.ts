/** Formats that validation does not know, for which upstream warns. upstream: customresourcedefinition/strategy.go getUnrecognizedFormatsInCRD */
import type { InternalSpec } from './definition-internal.ts'
import { additionalSchema, itemSchema, type SchemaProps } from './definition-props.ts'
import { schemaNames } from './definition-structural.ts'
import { supportedFormat } from './formats.ts'
import { goQuote } from './status.ts'

/** One warning for each unknown format in a definition's schemas. */
export function formatWarnings(spec: InternalSpec): string[] {
  const found: string[] = []
  for (const validation of [spec.validation, ...(spec.versions ?? []).map((version) => version.schema)]) {
    if (validation?.openAPIV3Schema !== undefined) collect(validation.openAPIV3Schema, found)
  }
  return found.map((format) => `unrecognized format ${goQuote(format)}`)
}

function collect(schema: SchemaProps, found: string[]): void {
  if (schema.format !== undefined && supportedFormat(schema.format, schema.type) === '') found.push(schema.format)
  const children = [itemSchema(schema), ...(schema.allOf ?? []), ...(schema.anyOf ?? []), ...(schema.oneOf ?? []), schema.not]
  for (const name of schemaNames(schema.properties)) children.push(schema.properties?.[name])
  for (const child of [...children, additionalSchema(schema)]) if (child !== undefined) collect(child, found)
}
