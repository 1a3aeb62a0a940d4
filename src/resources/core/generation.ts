/** Core kinds have no generation, which every custom resource has. */
import type { KubeObject } from '../../api/object.ts'

/** The object without its generation. */
export function withoutGeneration(object: KubeObject): KubeObject {
  const { generation: _none, ...metadata } = object.metadata
  return { ...object, metadata }
}
