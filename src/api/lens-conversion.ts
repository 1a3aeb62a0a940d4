/** The conversion between all versions of a resource, from the lenses between neighbours. */
import { formatApiVersion, type JsonObject, type KubeObject } from './object.ts'
import type { Conversion, Remainder, Stored } from './conversion.ts'
import { compileLens, type CompiledLens } from './lens-compile.ts'
import { readObject } from './lens-path.ts'
import type { Lens } from './lens.ts'
import { findVersion, type ResourceDefinition } from './resource.ts'
import type { Schema } from './schema.ts'

/**
 * The conversion over a chain of lenses whose newest version is the hub. A remainder holds, by the older version of each
 * lens on the way, what that lens cut. Throws an Error when the lenses do not join all versions into one chain, or do
 * not fit the schemas.
 */
export function compileConversion(definition: ResourceDefinition, lenses: readonly Lens[]): Conversion {
  const hub = findHub(definition, lenses)
  const routes = findRoutes(definition, hub, lenses)
  const route = (version: string): readonly CompiledLens[] => {
    const found = routes.get(version)
    if (found === undefined) throw new Error(`${definition.names.kind} has no version ${version}`)
    return found
  }
  const show = (hubObject: KubeObject, version: string): KubeObject => route(version).reduce((object, lens) => lens.get(object), hubObject)
  return {
    hub,
    lenses,
    poorer: [...routes].filter(([, lensesTo]) => lensesTo.some((lens) => !lens.lossless)).map(([version]) => version),
    show,
    lift: (object, version, original) => lift(object, route(version), original),
    store(hubObject, version): Stored {
      const { object, remainder } = cutAlong(hubObject, route(version))
      return remainder === undefined ? { version, object } : { version, object, remainder }
    },
    load({ version, object, remainder }) {
      return route(version).reduceRight((older, lens) => {
        const rest = readObject(remainder, [lens.older])
        return rest === undefined ? lens.create(older) : lens.complete(older, rest)
      }, object)
    },
  }
}

/** The conversion of a resource whose versions have the same fields: only apiVersion changes, as with strategy None of a CRD. */
export function noConversion(definition: ResourceDefinition): Conversion {
  const hub = definition.versions.find((version) => version.storage)?.name
  if (hub === undefined) throw new Error(`${definition.names.kind} has no storage version`)
  const as = (object: KubeObject, version: string): KubeObject => {
    const apiVersion = formatApiVersion(definition.group, version)
    return object.apiVersion === apiVersion ? object : { ...object, apiVersion }
  }
  return {
    renamesOnly: true,
    hub,
    show: as,
    lift: (object) => as(object, hub),
    store: (hubObject, version) => ({ version, object: as(hubObject, version) }),
    load: (stored) => as(stored.object, hub),
  }
}

function lift(object: KubeObject, route: readonly CompiledLens[], original: KubeObject | undefined): KubeObject {
  const last = route.length - 1
  // The original as the newer side of each lens has it.
  const originals: (KubeObject | undefined)[] = [original]
  for (let i = 0; i < last; i++) originals.push(originals[i] === undefined ? undefined : route[i]?.get(originals[i] as KubeObject))
  return route.reduceRight((older, lens, i) => {
    const newer = originals[i]
    return newer === undefined ? lens.create(older) : lens.put(older, newer)
  }, object)
}

function cutAlong(hubObject: KubeObject, route: readonly CompiledLens[]): { object: KubeObject; remainder: Remainder | undefined } {
  let object = hubObject
  const remainder: JsonObject = {}
  for (const lens of route) {
    const rest = lens.cut(object)
    if (rest !== undefined) remainder[lens.older] = rest
    object = lens.get(object)
  }
  return { object, remainder: Object.keys(remainder).length > 0 ? remainder : undefined }
}

function findHub(definition: ResourceDefinition, lenses: readonly Lens[]): string {
  const olders = new Set(lenses.map((lens) => lens.older))
  const [hub, ...others] = definition.versions.map((version) => version.name).filter((name) => !olders.has(name))
  if (hub === undefined || others.length > 0) {
    throw new Error(`${definition.names.kind}: the lenses must leave one newest version, not ${[hub ?? 'none', ...others].join(', ')}`)
  }
  return hub
}

// By version, the lenses from the hub down to it.
function findRoutes(definition: ResourceDefinition, hub: string, lenses: readonly Lens[]): Map<string, readonly CompiledLens[]> {
  const routes = new Map<string, readonly CompiledLens[]>([[hub, []]])
  let newer = hub
  for (let step = lenses.find((lens) => lens.newer === newer); step !== undefined; step = lenses.find((lens) => lens.newer === newer)) {
    const compiled = compileLens(step, schemaOf(definition, step.older), schemaOf(definition, step.newer))
    if (routes.has(step.older)) throw new Error(`${definition.names.kind}: the lenses lead to ${step.older} twice`)
    routes.set(step.older, [...(routes.get(newer) as readonly CompiledLens[]), compiled])
    newer = step.older
  }
  if (routes.size !== definition.versions.length || routes.size !== lenses.length + 1) {
    throw new Error(`${definition.names.kind}: the lenses are no chain of ${definition.versions.map((version) => version.name).join(', ')}`)
  }
  return routes
}

function schemaOf(definition: ResourceDefinition, version: string): Schema {
  const found = findVersion(definition, version)
  if (found === undefined) throw new Error(`${definition.names.kind} has no version ${version}`)
  return found.schema
}
