/** What is served: the built-in resources, and those of definitions from files. */
import { qualifiedName } from '../api/resource.ts'
import type { Config } from '../config.ts'
import type { ServedResource } from '../registry/resource-store.ts'
import { resources } from '../resources/index.ts'
import { loadDefinitions } from './load-definitions.ts'

/**
 * Definitions from files come beside the built-in ones; one of the same name takes its place. Rejects with DefinitionsError, for lenses without a definition
 * too.
 */
export async function chooseResources({ definitions, lenses }: Pick<Config, 'definitions' | 'lenses'>, warn: (text: string) => void): Promise<readonly ServedResource[]> {
  const loaded = definitions.length + lenses.length > 0 ? await loadDefinitions(definitions, { lenses, warn }) : []
  const replaced = new Set(loaded.map(({ definition }) => qualifiedName(definition)))
  return [...resources.filter(({ definition }) => !replaced.has(qualifiedName(definition))), ...loaded]
}
