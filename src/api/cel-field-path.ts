/** The fieldPath of a rule: `.a.b`, `['x']`. */
import type { SchemaProps } from './definition-props.ts'
import { resolveFieldPath } from './field-path.ts'
import type { Schema } from './schema.ts'

/** The path as field errors write it, e.g. `a.b[x]`. Throws Error for one that does not fit the schema. */
export function fixedPath(text: string, schema: Schema): string {
  return resolveFieldPath(text, schema as unknown as SchemaProps, { arrays: true }).text
}
