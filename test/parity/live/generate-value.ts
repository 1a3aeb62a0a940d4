/** Values of a schema, mostly right ones, and now and then what goes just beyond it. */
import { Float, setKey, type Json, type JsonObject } from '../../../src/api/object.ts'
import { matchesPattern } from '../../../src/api/pattern.ts'
import type { Schema } from '../../../src/api/schema.ts'
import { oddValue } from './mutate.ts'
import type { Random } from './random.ts'

const TEXTS: readonly string[] = [
  'a', 'ab', 'abc', 'A', 'x', '/', '/a/b', '0', '1', '5', '10%', '30s', '1h', '500m', '1Gi', '1.5', 'example.com', '*.example.com', 'a.b/c', 'https://example.com/a', '10.0.0.1', '10.0.0.0/8', '::1', 'YQ==', 'true', '', 'ä€𝄞', 'two words',
  '2026-01-02T03:04:05Z', '2026-01-02', '12345678-1234-1234-1234-123456789abc', 'a@example.com', 'x'.repeat(64),
]
const KEYS = ['a', 'b', 'k', 'example.com/x', 'a.b', '', '__proto__', 'spec']
const ODD_SHARE = 0.02

/** A value. */
export function generateValue(schema: Schema, random: Random): Json {
  if (random.chance(ODD_SHARE)) return oddValue(random)
  if (schema.nullable && random.chance(0.15)) return null
  if (schema.default !== undefined && random.chance(0.1)) return schema.default
  if (schema.enum !== undefined && schema.enum.length > 0 && random.chance(0.9)) return random.pick(schema.enum)
  if (schema['x-kubernetes-int-or-string']) return random.chance(0.5) ? generateInteger(schema, random) : generateText(schema, random)
  switch (schema.type) {
    case 'string':
      return generateText(schema, random)
    case 'integer':
      return generateInteger(schema, random)
    case 'number':
      return random.chance(0.4) ? generateInteger(schema, random) : random.pick([0.5, 1.5, -2.25, new Float(3), new Float(1e7), 1234567.5, 0.3, 1e-7])
    case 'boolean':
      return random.chance(0.5)
    case 'array':
      return generateList(schema, random)
    case 'object':
      return generateObject(schema, random)
    default:
      return schema.properties === undefined ? oddValue(random) : generateObject(schema, random)
  }
}

function generateText({ pattern, maxLength, minLength }: Schema, random: Random): string {
  if (random.chance(0.1)) return random.pick(TEXTS)
  const fits = TEXTS.filter((text) => (maxLength === undefined || text.length <= maxLength) && (minLength === undefined || text.length >= minLength) && (pattern === undefined || matchesPattern(pattern, text)))
  return random.pick(fits.length > 0 ? fits : TEXTS)
}

function generateInteger({ minimum, maximum }: Schema, random: Random): Json {
  const near = [minimum, maximum].filter((limit) => limit !== undefined && Number.isSafeInteger(limit)) as number[]
  if (near.length > 0 && random.chance(0.5)) return random.pick(near) + random.pick([-1, 0, 0, 1])
  return random.chance(0.8) ? random.below(20) : random.pick([-1, 80, 65536, 2147483648, 9007199254740993n, -9223372036854775808n])
}

function generateList({ items, minItems = 0, maxItems = 3 }: Schema, random: Random): Json[] {
  const most = Math.max(0, Math.min(maxItems, 3))
  const length = random.chance(0.05) ? Math.min(maxItems + 1, 6) : Math.max(minItems, random.below(most + 1))
  const list: Json[] = Array.from({ length: Math.max(0, length) }, () => generateValue(items ?? {}, random))
  return list.length > 0 && random.chance(0.05) ? [...list, list[0] as Json] : list
}

function generateObject(schema: Schema, random: Random): JsonObject {
  const object: JsonObject = {}
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    if (random.chance(schema.required?.includes(name) ? 0.95 : 0.55)) setKey(object, name, generateValue(property, random))
  }
  const { additionalProperties: additional } = schema
  if (additional !== undefined) {
    for (let i = random.below(3); i > 0; i--) setKey(object, random.pick(KEYS), typeof additional === 'object' ? generateValue(additional, random) : oddValue(random))
  } else if (random.chance(schema['x-kubernetes-preserve-unknown-fields'] ? 0.7 : 0.04)) setKey(object, random.pick(KEYS), oddValue(random))
  return object
}
