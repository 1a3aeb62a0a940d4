/** `manifests crd`: the folder `deploy/crd/` from the definitions. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '../../config.ts'
import { chooseResources } from '../choose-resources.ts'
import { fallbackManifests } from './fallback.ts'

/** What is printed where, and of which definitions. */
export interface ManifestsOptions extends Pick<Config, 'definitions' | 'lenses'> {
  /** A folder to write the files into; absent: all but the kustomization is printed as one document list. */
  readonly outputDir?: string
  readonly out: NodeJS.WritableStream
  readonly err: NodeJS.WritableStream
}

/** Writes or prints the manifests of the fallback. Rejects when a definition cannot be read or a file cannot be written. */
export async function runManifestsCrd({ outputDir, out, err, ...config }: ManifestsOptions): Promise<void> {
  const files = fallbackManifests(await chooseResources(config, (text) => err.write(`${text}\n`)))
  if (outputDir === undefined) {
    out.write([...files].filter(([name]) => name !== 'kustomization.yaml').map(([, text]) => text).join('---\n'))
    return
  }
  await mkdir(outputDir, { recursive: true })
  for (const [name, text] of files) await writeFile(join(outputDir, name), text)
  err.write(`${files.size} files in ${outputDir}: kubectl apply -k ${outputDir}\n`)
}
