import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { after, before, test } from 'node:test'
import { runConvert } from './convert.ts'

let folder = ''
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'convert-'))
})
after(() => rm(folder, { recursive: true }))

const crd = (older: string, newer: string, conversion: string): string => `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: boats.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: boats, kind: Boat}
  conversion: ${conversion}
  versions:
  - {name: v1, served: true, storage: false, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: ${older}}}}}}
  - {name: v2, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: ${newer}}}}}}
`

const WEBHOOK = '{strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {url: "https://example.com/never"}}}'

const LENSES = `resource: boats.example.com
lenses:
- older: v1
  newer: v2
  operations:
  - op: rename
    older: spec
    newer: spec
    operations:
    - {op: rename, older: colour, newer: paint.color}
    - {op: newer, fields: [paint.gloss, sails]}
    - {op: each, older: crew, newer: crew, key: {older: name, newer: name}, operations: [{op: same, fields: [name]}, {op: newer, fields: [pay]}]}
`

interface Case {
  readonly crd: string
  readonly lenses?: string
  readonly objects: string
  readonly to: string
}

async function convert({ crd: definition, lenses, objects, to }: Case): Promise<{ code: number; out: string; err: string[] }> {
  const text = { out: '', err: '' }
  const stream = (name: 'out' | 'err'): Writable => new Writable({ write: (chunk: Buffer, _, done) => { text[name] += chunk.toString(); done() } })
  const file = async (name: string, content: string): Promise<string> => {
    await writeFile(join(folder, name), content)
    return join(folder, name)
  }
  const code = await runConvert({
    files: [await file('objects.yaml', objects)],
    to,
    definitions: [await file('crd.yaml', definition)],
    lenses: lenses === undefined ? [] : [await file('lenses.yaml', lenses)],
    out: stream('out'),
    err: stream('err'),
  })
  return { code, out: text.out, err: text.err.replaceAll(`${folder}/`, '').split('\n').filter((line) => line !== '') }
}

const CREW = 'crew: {type: array, items: {type: object, required: [name], properties: {name: {type: string}'
const lensed = {
  crd: crd(`{colour: {type: string}, ${CREW}}}}}`, `{paint: {type: object, properties: {color: {type: string}, gloss: {type: integer}}}, sails: {type: integer, default: 2}, ${CREW}, pay: {type: integer}}}}}`, WEBHOOK),
  lenses: LENSES,
}

test('each field that does not come back from the other version is a warning', async () => {
  const objects = `apiVersion: v1
kind: List
items:
- {apiVersion: example.com/v2, kind: Boat, metadata: {name: a}, spec: {paint: {color: red, gloss: 3}, sails: 5, crew: [{name: x}, {name: z, pay: 3}]}}
- {apiVersion: example.com/v2, kind: Boat, metadata: {generateName: b-}, spec: {paint: {}}}
`
  const { code, out, err } = await convert({ ...lensed, objects, to: 'v1' })
  assert.equal(code, 0, err.join('\n'))
  assert.deepEqual(err, [
    'objects.yaml: warning: Boat "a": spec.paint.gloss does not come back from v1',
    'objects.yaml: warning: Boat "a": spec.sails comes back with another value from v1',
    'objects.yaml: warning: Boat "a": spec.crew[1].pay does not come back from v1',
    'objects.yaml: warning: Boat: spec.paint does not come back from v1',
  ])
  assert.doesNotMatch(out, /gloss|paint|sails|pay/)
})

test('what comes back the same is no warning', async () => {
  const older = await convert({ ...lensed, objects: '{apiVersion: example.com/v1, kind: Boat, metadata: {name: a}, spec: {colour: red, crew: []}}', to: 'v2' })
  assert.deepEqual(older.err, [])
  const newer = await convert({ ...lensed, objects: '{apiVersion: example.com/v2, kind: Boat, metadata: {name: a}, spec: {paint: {color: red}}}', to: 'v1' })
  assert.deepEqual(newer.err, [])
  const none = await convert({ ...lensed, objects: '{apiVersion: example.com/v2, kind: Boat, metadata: {name: a}, spec: {paint: {gloss: 1}}}', to: 'v2' })
  assert.deepEqual(none.err, [])
  assert.match(none.out, /gloss: 1/)
})

test('without a conversion the fields that the other version does not have go, with a warning', async () => {
  const definition = crd('{a: {type: string}, b: {type: integer}}', '{a: {type: string}, c: {type: object, properties: {d: {type: string}}}}', '{strategy: None}')
  const { code, out, err } = await convert({ crd: definition, objects: '{apiVersion: example.com/v2, kind: Boat, metadata: {name: a}, spec: {a: x, c: {d: z}}}', to: 'v1' })
  assert.equal(code, 0, err.join('\n'))
  assert.equal(out, 'apiVersion: example.com/v1\nkind: Boat\nmetadata:\n  name: a\nspec:\n  a: x\n')
  assert.deepEqual(err, ['objects.yaml: warning: Boat "a": spec.c.d does not come back from v1'])
})

test('an object of a kind that is not known stays as it is, with a note', async () => {
  const { code, out, err } = await convert({ ...lensed, objects: '{apiVersion: apps/v1, kind: Deployment, metadata: {name: d}, spec: {}}', to: 'v1' })
  assert.equal(code, 0, err.join('\n'))
  assert.equal(out, 'apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: d\nspec: {}\n')
  assert.deepEqual(err, ['objects.yaml: warning: Deployment "d" stays as it is: no definition of Deployment in apps/v1 is known (--definition names the file of one)'])
})
