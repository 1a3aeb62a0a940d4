/** The examples of lenses in the documentation do what it says. */
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { after, before, test } from 'node:test'
import { runConvert } from '../src/commands/convert.ts'

const ROOT = join(import.meta.dirname, '..')
const EXAMPLE = /<!-- (\S+) -->\n```yaml\n([^]*?)```/g

let folder: string
let examples: Map<string, string>

before(() => {
  folder = mkdtempSync(join(tmpdir(), 'lenses-'))
  const text = readFileSync(join(ROOT, 'docs/lenses.md'), 'utf8')
  examples = new Map([...text.matchAll(EXAMPLE)].map(([, name, yaml]) => [name as string, yaml as string]))
  const [readme] = /```yaml\n(resource: [^]*?)```/.exec(readFileSync(join(ROOT, 'README.md'), 'utf8'))?.slice(1) ?? assert.fail('the README has no lenses')
  for (const [name, yaml] of [...examples, ['readme.yaml', readme as string] as const]) writeFileSync(join(folder, name), yaml)
})

after(() => rmSync(folder, { recursive: true, force: true }))

async function convert(file: string, to: string, lenses = 'lenses.yaml', definition = 'definition.yaml'): Promise<{ out: string; err: string }> {
  const text = { out: '', err: '' }
  const stream = (name: 'out' | 'err') => new Writable({ write: (chunk: Buffer, _, done) => { text[name] += chunk.toString(); done() } })
  await runConvert({ files: [join(folder, file)], to, definitions: [join(folder, definition)], lenses: [join(folder, lenses)], out: stream('out'), err: stream('err') })
  return text
}

test('the example is converted as it is told, there and back', async () => {
  assert.deepEqual(await convert('v1.yaml', 'v2'), { out: examples.get('v2.yaml'), err: '' })
  assert.deepEqual(await convert('v2.yaml', 'v1'), { out: examples.get('v1.yaml'), err: '' })
})

test('the lenses of the README are those of the same definition with fewer fields', async () => {
  const definition = (examples.get('definition.yaml') as string).split('\n').filter((line) => !/^ {14}(?:cpu|memory|resources|parts): /.test(line)).join('\n')
  writeFileSync(join(folder, 'smaller.yaml'), definition)
  writeFileSync(join(folder, 'small.yaml'), 'apiVersion: example.com/v1\nkind: Widget\nmetadata:\n  name: a\nspec:\n  secret: s\n')
  const { out, err } = await convert('small.yaml', 'v2', 'readme.yaml', 'smaller.yaml')
  assert.equal(err, '')
  assert.match(out, /secretRef:\n {4}name: s\n/)
})
