import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { after, before, test } from 'node:test'
import { checkDefinition } from '../api/definition-check.ts'
import { readDefinition } from '../api/definition.ts'
import { decodeYaml } from '../api/codec.ts'
import type { JsonObject } from '../api/object.ts'
import { notebookValidationJobs } from '../resources/notebookvalidationjobs/definition.ts'
import { runConvert } from './convert.ts'
import { runDefinitionsCheck, runDefinitionsPrint } from './definitions.ts'
import { chooseResources } from './choose-resources.ts'
import { DefinitionsError, loadDefinitions } from './load-definitions.ts'

let folder = ''
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'definitions-'))
})
after(() => rm(folder, { recursive: true }))

async function file(name: string, text: string): Promise<string> {
  await writeFile(join(folder, name), text)
  return join(folder, name)
}

function streams(): { out: Writable; err: Writable; text: { out: string; err: string } } {
  const text = { out: '', err: '' }
  const to = (key: 'out' | 'err'): Writable =>
    new Writable({
      write(chunk: Buffer, _, done) {
        text[key] += chunk.toString()
        done()
      },
    })
  return { out: to('out'), err: to('err'), text }
}

interface Parts {
  readonly plural?: string
  readonly spec?: string
  readonly old?: string
  readonly new?: string
}

const crd = ({ plural = 'widgets', spec = '', old = '{a: {type: string}}', new: fresh = '{b: {type: string}}' }: Parts = {}): string => `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ${plural}.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: ${plural}, kind: ${plural.toUpperCase()}}
${spec}  versions:
  - {name: v1, served: true, storage: false, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: ${old}}}}}}
  - {name: v2, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: ${fresh}}}}}}
`

const WEBHOOK = '  conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {url: "https://a.example.com"}}}\n'
const LENSES = `resource: widgets.example.com
lenses:
- older: v1
  newer: v2
  operations:
  - {op: rename, older: spec, newer: spec, operations: [{op: rename, older: a, newer: b}]}
`

async function faults(definitions: string[], lenses: string[] = []): Promise<string[]> {
  try {
    await loadDefinitions(definitions, { lenses })
  } catch (error) {
    if (error instanceof DefinitionsError) return error.faults.map((fault) => fault.replaceAll(`${folder}/`, ''))
    throw error
  }
  return []
}

test('check prints a line for each document and fails when one is bad', async () => {
  const good = await file('good.yaml', crd())
  const mixed = await file('mixed.yaml', `# first\n${crd()}---\n${crd({ spec: '  colour: red\n' })}---\n${crd({ plural: 'W' })}`)
  const { text, ...io } = streams()
  assert.equal(await runDefinitionsCheck({ files: [good], output: 'text', fieldValidation: 'Strict', ...io }), 0)
  assert.equal(text.out, `${good}: widgets.example.com is good\n`)
  text.out = ''
  assert.equal(await runDefinitionsCheck({ files: [mixed], output: 'text', fieldValidation: 'Strict', ...io }), 1)
  const lines = text.out.trimEnd().split('\n')
  assert.equal(lines[0], `${mixed}:1: widgets.example.com is good`)
  assert.match(lines[1] ?? '', /:13: CustomResourceDefinition in version "v1" cannot be handled as a CustomResourceDefinition: strict decoding error: unknown field "spec.colour"$/)
  assert.match(lines[2] ?? '', /:25: W\.example\.com: metadata\.name: Invalid value: "W\.example\.com": a lowercase RFC 1123 subdomain/)
})

test('unknown fields are warnings where nobody asks for more, as when definitions are loaded', async () => {
  const path = await file('typo.yaml', crd({ spec: '  colour: red\n' }))
  const { text, ...io } = streams()
  assert.equal(await runDefinitionsCheck({ files: [path], output: 'text', fieldValidation: 'Warn', ...io }), 0)
  assert.equal(text.out, `${path}: widgets.example.com is good\n${path}: warning: unknown field "spec.colour"\n`)
  const warnings: string[] = []
  await loadDefinitions([path], { warn: (line) => warnings.push(line) })
  assert.deepEqual(warnings, [`${path}: widgets.example.com: unknown field "spec.colour"`])
})

test('check as JSON prints the Status of each document', async () => {
  const path = await file('json.yaml', `${crd()}---\n${crd({ plural: 'x' }).replace('Namespaced', 'World')}`)
  const { text, ...io } = streams()
  assert.equal(await runDefinitionsCheck({ files: [path], output: 'json', fieldValidation: 'Strict', ...io }), 1)
  const body = 'Unsupported value: "World": supported values: "Cluster", "Namespaced"'
  assert.deepEqual(JSON.parse(text.out), [
    { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success' },
    {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: `CustomResourceDefinition.apiextensions.k8s.io "x.example.com" is invalid: spec.scope: ${body}`,
      reason: 'Invalid',
      details: {
        name: 'x.example.com',
        group: 'apiextensions.k8s.io',
        kind: 'CustomResourceDefinition',
        causes: [{ reason: 'FieldValueNotSupported', message: body, field: 'spec.scope' }],
      },
      code: 422,
    },
  ])
})

test('a rule that does not compile fails the check as it would a create; one that is only not served here says so', async () => {
  const rule = '{a: {type: string, x-kubernetes-validations: [{rule: "frobnicate(self)"}]}}'
  const path = await file('rule.yaml', crd({ old: rule }))
  const { text, ...io } = streams()
  assert.equal(await runDefinitionsCheck({ files: [path], output: 'json', fieldValidation: 'Strict', ...io }), 1)
  const [status] = JSON.parse(text.out) as [{ details: { causes: { field: string; message: string }[] } }]
  assert.equal(status.details.causes[0]?.field, 'spec.versions[0].schema.openAPIV3Schema.properties[spec].properties[a].x-kubernetes-validations[0].rule')
  const detail = "compilation failed: ERROR: <input>:1:11: undeclared reference to 'frobnicate' (in container '')\n | frobnicate(self)\n | ..........^"
  assert.equal(
    status.details.causes[0]?.message,
    `Invalid value: {"Rule":"frobnicate(self)","Message":"","MessageExpression":"","Reason":null,"FieldPath":"","OptionalOldSelf":null}: ${detail}`,
  )
  const missing = await file('missing.yaml', crd({ old: rule.replace('frobnicate(self)', "[self].all(i, v, v == 'a')") }))
  const [fault = ''] = await faults([missing])
  assert.match(fault, /^missing\.yaml: widgets\.example\.com: spec\.versions\[0\].*not served by mlops-apiserver: rule .* does not compile: comprehensions of two variables are not supported$/)
})

test('files that cannot be read or are empty are named', async () => {
  const empty = await file('empty.yaml', '# nothing\n---\n')
  const none = join(folder, 'none.yaml')
  await mkdir(join(folder, 'bare'))
  const { text, ...io } = streams()
  assert.equal(await runDefinitionsCheck({ files: [empty, none, join(folder, 'bare')], output: 'text', fieldValidation: 'Strict', ...io }), 1)
  assert.deepEqual(text.err.trimEnd().replaceAll(`${folder}/`, '').split('\n'), [
    'empty.yaml: holds no document',
    'none.yaml: there is no such file or folder',
    'bare: the folder has no .yaml, .yml or .json file; its subfolders are not read: name the one that is meant',
  ])
})

test('ours are printed as good manifests that read back and are small', async () => {
  const { text, out } = streams()
  assert.equal(await runDefinitionsPrint({ out }), 0)
  assert.ok(Buffer.byteLength(text.out) < 200 * 1024)
  const { status, warnings, refused } = checkDefinition(Buffer.from(text.out), 'application/yaml', 'Strict')
  assert.deepEqual({ status: status.status, warnings, refused }, { status: 'Success', warnings: [], refused: [] }, status.message)
  assert.deepEqual(readDefinition(decodeYaml(text.out).value as JsonObject), notebookValidationJobs)
})

test('a folder of definitions is loaded, of several documents and both forms', async () => {
  await mkdir(join(folder, 'many'))
  await file('many/a.yaml', `${crd()}---\n${crd({ plural: 'gadgets' })}`)
  await file('many/b.json', JSON.stringify(decodeYaml(crd({ plural: 'things' })).value))
  await file('many/readme.txt', 'not a manifest')
  const resources = await loadDefinitions([join(folder, 'many')])
  assert.deepEqual(resources.map(({ definition }) => definition.names.plural), ['widgets', 'gadgets', 'things'])
  assert.deepEqual(resources.map(({ conversion }) => conversion.hub), ['v2', 'v2', 'v2'])
})

test('all faults of all definitions and lenses are named at once', async () => {
  const bad = await file('bad.yaml', `${crd({ plural: 'W' })}---\nkind: Pod\napiVersion: v1\n`)
  const lenses = await file('bad-lenses.yaml', 'resource: others.example.com\nlenses: []\n')
  const stray = await file('stray-lenses.yaml', LENSES)
  assert.deepEqual(
    (await faults([bad, join(folder, 'none.yaml')], [lenses, stray])).map((fault) => fault.replace(/(subdomain|label) must consist.*/, '$1 …')),
    [
      'none.yaml: there is no such file or folder',
      'bad.yaml:12: Pod (v1) is no CustomResourceDefinition: take it out of this file, or name the folder of the file, in which such documents are passed over',
      'bad.yaml:1: W.example.com: metadata.name: Invalid value: "W.example.com": a lowercase RFC 1123 subdomain …',
      'bad.yaml:1: W.example.com: spec.names.plural: Invalid value: "W": a DNS-1035 label …',
      'bad-lenses.yaml: lenses: must be a list that is not empty',
      'stray-lenses.yaml: there is no definition of widgets.example.com: give it with --definition',
    ],
  )
})

test('a List, as kubectl prints it, is read item by item', async () => {
  const items = [crd(), crd({ plural: 'gadgets', spec: '  colour: red\n' })].map((text) => `- ${text.trimEnd().replaceAll('\n', '\n  ')}\n`).join('')
  const list = await file('list.yaml', `apiVersion: v1\nitems:\n${items}kind: List\nmetadata: {resourceVersion: ""}\n`)
  const { text, ...io } = streams()
  assert.equal(await runDefinitionsCheck({ files: [list], output: 'text', fieldValidation: 'Warn', ...io }), 0)
  assert.equal(text.out, `${list}: items[0]: widgets.example.com is good\n${list}: items[1]: gadgets.example.com is good\n${list}: items[1]: warning: unknown field "spec.colour"\n`)
  assert.deepEqual((await loadDefinitions([list])).map(({ definition }) => definition.names.plural), ['widgets', 'gadgets'])

  const typed = { apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinitionList', items: [{ ...(decodeYaml(crd()).value as JsonObject) }] }
  const [item] = typed.items as JsonObject[]
  delete item?.apiVersion
  delete item?.kind
  assert.equal((await loadDefinitions([await file('typed-list.json', JSON.stringify(typed))])).length, 1)

  const odd = await file('odd-list.yaml', 'apiVersion: v1\nkind: List\nitems: [7, {apiVersion: v1, kind: Pod}]\n')
  const none = await file('empty-list.yaml', 'apiVersion: v1\nkind: List\nitems: []\n')
  const found = await faults([odd, none])
  assert.equal(found[0], 'empty-list.yaml: the List holds no item')
  assert.match(found[1] ?? '', /^odd-list\.yaml: items\[1\]: Pod \(v1\) is no CustomResourceDefinition: take it out/)
  assert.match(found[2] ?? '', /^odd-list\.yaml: items\[0\]: /)
})

test('what a folder holds beside definitions is noted and passed over, and a folder without any is a fault', async () => {
  await mkdir(join(folder, 'crd', 'bases'), { recursive: true })
  await file('crd/kustomization.yaml', 'apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [bases/widgets.yaml]\n')
  await file('crd/kustomizeconfig.yaml', 'nameReference:\n- kind: Service\n')
  await file('crd/bases/widgets.yaml', crd())
  const path = join(folder, 'crd')
  const noted = [
    'crd/kustomization.yaml: passed over: Kustomization (kustomize.config.k8s.io/v1beta1) is no CustomResourceDefinition',
    'crd/kustomizeconfig.yaml: passed over: what has no kind is no CustomResourceDefinition',
  ]
  assert.deepEqual(await faults([path]), ['crd: the folder holds no CustomResourceDefinition; its subfolders are not read: name the one that is meant'])
  await file('crd/widgets.yaml', crd())
  const { text, ...io } = streams()
  assert.equal(await runDefinitionsCheck({ files: [path], output: 'text', fieldValidation: 'Strict', ...io }), 0)
  assert.equal(text.out.replaceAll(`${folder}/`, ''), 'crd/widgets.yaml: widgets.example.com is good\n')
  assert.deepEqual(text.err.trimEnd().replaceAll(`${folder}/`, '').split('\n'), noted)
  const warned: string[] = []
  await loadDefinitions([path], { warn: (line) => warned.push(line.replaceAll(`${folder}/`, '')) })
  assert.deepEqual(warned, noted)
})

test('a file that is named twice is read once', async () => {
  const path = await file('twice.yaml', crd())
  assert.equal((await loadDefinitions([path, path, `${folder}/./twice.yaml`])).length, 1)
  const copy = await file('copy.yaml', crd())
  assert.match((await faults([path, copy]))[0] ?? '', /^copy\.yaml: widgets\.example\.com: spec\.names\.plural: "widgets" is already in use by twice\.yaml$/)
})

test('lenses without a definition are a mistake at start', async () => {
  const lenses = await file('lone-lenses.yaml', LENSES)
  await assert.rejects(chooseResources({ definitions: [], lenses: [lenses] }, () => {}), /lone-lenses\.yaml: there is no definition of widgets\.example\.com: give it with --definition$/)
})

test('names that two definitions of a group claim are refused', async () => {
  const one = await file('one.yaml', crd())
  const two = await file('two.yaml', crd({ plural: 'gadgets' }).replace('kind: GADGETS', 'kind: WIDGETS, singular: gadget, shortNames: [widgets]'))
  assert.deepEqual(await faults([one, two]), [
    'two.yaml: gadgets.example.com: spec.names.shortNames[0]: "widgets" is already in use by one.yaml',
    'two.yaml: gadgets.example.com: spec.names.kind: "WIDGETS" is already in use by one.yaml',
    'two.yaml: gadgets.example.com: spec.names.listKind: "WIDGETSList" is already in use by one.yaml',
  ])
})

test('strategy Webhook needs lenses, which must fit', async () => {
  const path = await file('hook.yaml', crd({ spec: WEBHOOK }))
  const lenses = await file('lenses.yaml', LENSES)
  const unfit = await file('unfit.yaml', LENSES.replace('newer: b', 'newer: c'))
  const text = 'hook.yaml: widgets.example.com: spec.conversion.strategy: Webhook is not served; give the lenses between its versions with --lenses, or use None'
  assert.deepEqual(await faults([path]), [text])
  const [fault = ''] = await faults([path], [unfit])
  assert.match(fault, /^unfit\.yaml: the lens between v1 and v2 does not fit the schemas:/)
  const [resource] = await loadDefinitions([path], { lenses: [lenses] })
  const shown = resource?.conversion.show({ apiVersion: 'example.com/v2', kind: 'WIDGETS', metadata: {}, spec: { b: 'x' } }, 'v1')
  assert.deepEqual(shown, { apiVersion: 'example.com/v1', kind: 'WIDGETS', metadata: {}, spec: { a: 'x' } })
})

test('convert prints the manifests in another version, in order, and leaves others alone', async () => {
  const definition = await file('convert-crd.yaml', crd())
  const lenses = await file('convert-lenses.yaml', LENSES)
  const manifests = await file('objects.yaml', `apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {a: "1"}
---
apiVersion: example.com/v1
kind: WIDGETS
metadata: {name: w}
spec: {a: x}
---
apiVersion: v1
kind: List
items:
- apiVersion: example.com/v2
  kind: WIDGETS
  metadata: {name: v}
  spec: {b: z}
`)
  const { text, ...io } = streams()
  const options = { files: [manifests], definitions: [definition], lenses: [lenses], ...io }
  assert.equal(await runConvert({ ...options, to: 'v2' }), 0)
  assert.equal(text.out, `apiVersion: v1
data:
  a: "1"
kind: ConfigMap
metadata:
  name: c
---
apiVersion: example.com/v2
kind: WIDGETS
metadata:
  name: w
spec:
  b: x
---
apiVersion: v1
items:
- apiVersion: example.com/v2
  kind: WIDGETS
  metadata:
    name: v
  spec:
    b: z
kind: List
`)
})

test('convert names all that is in the way by file and document, and prints nothing', async () => {
  const manifests = await file('bad-objects.yaml', `apiVersion: mlops.dev/v1
kind: NotebookValidationJob
metadata: {name: a}
spec: {colour: red}
---
apiVersion: mlops.dev/v7
kind: NotebookValidationJob
metadata: {name: b}
---
apiVersion: mlops.dev/v1
kind: Notebook
---
- 1
---
a: {
`)
  const { text, ...io } = streams()
  assert.equal(await runConvert({ files: [manifests], to: 'v1alpha1', definitions: [], lenses: [], ...io }), 1)
  assert.equal(text.out, '')
  const lines = text.err.trimEnd().replaceAll(`${folder}/`, '').split('\n')
  assert.match(lines[0] ?? '', /^bad-objects\.yaml:1: NotebookValidationJob "a": unknown field "spec\.colour"$/)
  assert.ok(lines.includes('bad-objects.yaml:6: NotebookValidationJob "b": there is no version mlops.dev/v7'))
  assert.ok(lines.includes('bad-objects.yaml:10: no kind Notebook is known in mlops.dev'))
  assert.ok(lines.includes('bad-objects.yaml:13: is no object with apiVersion and kind'))
  assert.match(lines.at(-1) ?? '', /^bad-objects\.yaml:15: yaml: /)
})

test('a job of the oldest version is converted to the newest and back', async () => {
  const notebook = { git: { url: 'https://example.com/a.git', path: 'a.ipynb', ref: 'main' }, golden: { git: { url: 'https://example.com/b.git', path: 'b.ipynb', ref: 'v1' } } }
  const job = { apiVersion: 'mlops.dev/v1alpha1', kind: 'NotebookValidationJob', metadata: { name: 'a' }, spec: { notebook } }
  const path = await file('job.json', JSON.stringify(job))
  const first = streams()
  assert.equal(await runConvert({ files: [path], to: 'v1', definitions: [], lenses: [], out: first.out, err: first.err }), 0, first.text.err)
  assert.match(first.text.out, /^apiVersion: mlops\.dev\/v1\n/)
  const newest = await file('job-v1.yaml', first.text.out)
  const second = streams()
  assert.equal(await runConvert({ files: [newest], to: 'v1alpha1', definitions: [], lenses: [], out: second.out, err: second.err }), 0, second.text.err)
  const back = decodeYaml(second.text.out).value as { spec: JsonObject }
  assert.deepEqual(back.spec.notebook, notebook)
})
