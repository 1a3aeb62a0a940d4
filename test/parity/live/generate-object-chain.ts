/** Conversations about objects of any definition: created, replaced, patched and applied with bodies that are right, wrong in a place, or of another version. */
import { isObject, setKey, type JsonObject } from '../../../src/api/object.ts'
import type { ResourceDefinition, VersionDefinition } from '../../../src/api/resource.ts'
import type { Chain, ChainStep } from './chain.ts'
import { generateValue } from './generate-value.ts'
import { mutate } from './mutate.ts'
import { Random } from './random.ts'

const NAMES = ['a', 'b', 'c']
const WRITES = 2
const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json'

/** A conversation made from a seed. */
export function generateObjectChain(definition: ResourceDefinition, seed: number): Chain {
  const random = new Random(seed)
  const versions = definition.versions.filter(({ served }) => served)
  const steps = NAMES.flatMap((name) => {
    const [first, second] = [random.pick(versions), random.pick(versions)]
    const path = `${collection(definition, second)}/\${ID}-${name}`
    return [
      create(definition, first, name, random),
      { m: 'GET', path },
      ...Array.from({ length: WRITES }, () => write(definition, second, name, path, random)),
      { m: 'GET', path: `${collection(definition, random.pick(versions))}/\${ID}-${name}`, h: { Accept: TABLE } },
    ]
  })
  return { seed, steps }
}

function collection({ group, scope, names }: ResourceDefinition, { name }: VersionDefinition): string {
  return `/apis/${group}/${name}${scope === 'Namespaced' ? '/namespaces/${ID}' : ''}/${names.plural}`
}

function create(definition: ResourceDefinition, version: VersionDefinition, name: string, random: Random): ChainStep {
  const q = random.chance(0.6) ? { q: [['fieldValidation', random.pick(['Strict', 'Warn', 'Ignore'])]] as const } : {}
  return { m: 'POST', path: collection(definition, version), json: generateBody(definition, version, name, random), object: name, ...q }
}

function write(definition: ResourceDefinition, version: VersionDefinition, name: string, path: string, random: Random): ChainStep {
  const body = generateBody(definition, version, name, random)
  const replaced = { ...body, metadata: { name: `\${ID}-${name}`, resourceVersion: `\${rv_${name}}` } }
  return random.pick<() => ChainStep>([
    () => ({ m: 'PUT', path, json: replaced, object: name }),
    () => ({ m: 'PUT', path: `${path}/status`, json: replaced, object: name }),
    () => ({ m: 'PATCH', path, ct: 'application/merge-patch+json', json: body, object: name }),
    () => ({ m: 'PATCH', path, ct: 'application/apply-patch+yaml', q: [['fieldManager', 'm'], ['force', 'true']], json: body, object: name }),
  ])()
}

function generateBody(definition: ResourceDefinition, { name: version, schema }: VersionDefinition, name: string, random: Random): JsonObject {
  const { apiVersion: _apiVersion, kind: _kind, metadata: _metadata, ...properties } = schema.properties ?? {}
  const right = generateValue({ ...schema, type: 'object', properties }, random)
  const body = random.chance(0.5) ? right : mutate(right, random, 1 + random.below(2))
  const object: JsonObject = {}
  for (const [key, value] of Object.entries(isObject(body) ? body : {})) setKey(object, key, value as JsonObject)
  return { ...object, apiVersion: `${definition.group}/${version}`, kind: definition.names.kind, metadata: { name: `\${ID}-${name}` } }
}
