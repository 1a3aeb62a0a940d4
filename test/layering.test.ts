/** The architecture as two tables: who may import whom, and which file may touch which outside thing. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { test } from 'node:test'

const ROOT = join(import.meta.dirname, '..')

/** Layer (longest matching prefix) → the layers whose values it may import. Types are free. */
const LAYERS: Record<string, readonly string[]> = {
  'src/base': [],
  'src/api': [],
  storage: ['src/base'],
  apiservice: ['src/base'],
  'src/resources': ['src/api'],
  'src/registry': ['src/api', 'src/base', 'storage'],
  'src/server': ['src/registry', 'src/api', 'src/base', 'apiservice', 'storage'],
  'src/worker': ['src/api', 'src/base'],
  'src/webhook': ['src/api', 'src/base', 'apiservice'],
  'src/commands': ['*'],
  'src/config.ts': ['*'],
  'src/main.ts': ['*'],
}

/** Outside package or global → the files that may use it (prefixes). */
const OUTSIDE: readonly (readonly [RegExp, readonly string[]])[] = [
  [/^@bufbuild\/cel/, ['src/api/cel']],
  [/^@bufbuild\/protobuf/, ['src/api/cel', 'src/api/protobuf']],
  [/^yaml$/, ['src/api/yaml', 'src/commands/kubeconfig.ts']],
  [/^re2js$/, ['src/api/pattern.ts', 'src/api/cel']],
  [/^node:sqlite$/, ['storage/sqlite']],
  [/^etcd3$|^cockatiel$/, ['storage/etcd']],
  [/^node:(http2?|https|tls)$/, ['apiservice/', 'src/server/express-bridge.ts', 'src/worker/api-client.ts', 'storage/etcd-space.ts']],
  [/^express$/, ['src/server/', 'src/base/metrics.ts', 'src/commands/']],
  [/^@kubernetes\/client-node$/, ['src/worker/', 'src/commands/']],
  [/^@peculiar\/x509$|^reflect-metadata$/, ['src/commands/pki']],
  [/^pino$/, ['src/base/log.ts']],
  [/^prom-client$/, ['src/base/metrics.ts']],
  [/^commander$/, ['src/main.ts', 'src/commands/']],
  [/^cli-progress$/, ['src/commands/']],
]

const AMBIENT: readonly (readonly [RegExp, readonly string[]])[] = [
  [/\bDate\.now\(|\bMath\.random\(|(?<![.\w])(setTimeout|setInterval)\(|\brandom(Bytes|UUID|Int)\(|\bperformance\.now\(/, ['src/base/']],
  [/\bprocess\.(env|argv)\b/, ['src/main.ts', 'src/config.ts']],
  [/\bconsole\./, []],
]

const sources = globSync('{src,storage,apiservice}/**/*.ts', { cwd: ROOT }).filter((file) => !/\.(test|suite|fixture)\.ts$/.test(file))

const layerOf = (file: string): string | undefined => Object.keys(LAYERS).filter((layer) => file === layer || file.startsWith(`${layer}/`)).sort((a, b) => b.length - a.length)[0]

interface Import {
  readonly from: string
  readonly typeOnly: boolean
}

function importsOf(text: string): Import[] {
  const found: Import[] = []
  for (const match of text.matchAll(/^(?:import|export)\s+(type\s)?((?:[^'"`;]*?)from\s+)?'([^']+)'/gms)) {
    const names = /\{([^}]*)\}/.exec(match[2] ?? '')?.[1]
    const onlyTypes = names !== undefined && names.split(',').every((name) => name.trim() === '' || name.trim().startsWith('type '))
    found.push({ from: match[3] ?? '', typeOnly: match[1] !== undefined || (onlyTypes && !/\w+\s*,\s*\{|\*/.test(match[2] ?? '')) })
  }
  for (const match of text.matchAll(/\bimport\('([^']+)'\)(?!\.\w+[\s>,;)\]])/g)) found.push({ from: match[1] ?? '', typeOnly: false })
  return found
}

// Comments may name what the code must not touch.
const code = (text: string): string => text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|\s)\/\/.*$/gm, '$1')

test('every source file belongs to a layer', () => {
  assert.deepEqual(sources.filter((file) => layerOf(file) === undefined), [])
  assert.ok(sources.length > 50)
})

test('a layer imports values only of the layers that the table allows', () => {
  const faults: string[] = []
  for (const file of sources) {
    const layer = layerOf(file) as string
    for (const { from, typeOnly } of importsOf(readFileSync(join(ROOT, file), 'utf8'))) {
      if (!from.startsWith('.')) continue
      const target = relative(ROOT, join(ROOT, dirname(file), from))
      if (/\.(test|suite|fixture)\.ts$/.test(target) || target.startsWith('test/')) faults.push(`${file} imports test code ${target}`)
      const to = layerOf(target)
      const allowed = LAYERS[layer] ?? []
      if (to === undefined || (!typeOnly && to !== layer && !allowed.includes(to) && !allowed.includes('*'))) faults.push(`${file} imports ${target}`)
    }
  }
  assert.deepEqual(faults, [])
})

test('an outside package is used only where the table says', () => {
  const faults: string[] = []
  for (const file of sources) {
    for (const { from, typeOnly } of importsOf(readFileSync(join(ROOT, file), 'utf8'))) {
      if (typeOnly) continue
      for (const [pattern, places] of OUTSIDE) if (pattern.test(from) && !places.some((place) => file.startsWith(place))) faults.push(`${file} imports ${from}`)
    }
  }
  assert.deepEqual(faults, [])
})

test('time, randomness, the environment and the console are touched only where the table says', () => {
  const faults: string[] = []
  for (const file of sources) {
    const text = code(readFileSync(join(ROOT, file), 'utf8'))
    for (const [pattern, places] of AMBIENT) {
      const hit = pattern.exec(text)
      if (hit && !places.some((place) => file.startsWith(place))) faults.push(`${file}: ${hit[0]}`)
    }
  }
  assert.deepEqual(faults, [])
})

test('nothing in the generic layers knows the kind that is served', () => {
  const generic = sources.filter((file) => /^(src\/(api|registry|server|base)|storage|apiservice)\//.test(file))
  assert.deepEqual(generic.filter((file) => /notebookvalidationjob/i.test(code(readFileSync(join(ROOT, file), 'utf8')))), [])
})

test('the top level is exactly what the layout says', () => {
  const known = new Set(['package.json', 'package-lock.json', 'tsconfig.json', 'Dockerfile', 'README.md', 'LICENSE', 'src', 'storage', 'apiservice', 'deploy', 'docs', 'test', 'node_modules', 'dist'])
  assert.deepEqual(globSync('*', { cwd: ROOT }).filter((name) => !known.has(name)), [])
})
