/** `deploy/crd/` is what the definitions make of it: `node src/launch.mjs manifests crd --output-dir deploy/crd` writes it again. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { decodeYaml } from '../src/api/codec.ts'
import { checkDefinition } from '../src/api/definition-check.ts'
import type { JsonObject } from '../src/api/object.ts'
import { splitDocuments } from '../src/api/yaml-documents.ts'
import { fallbackManifests } from '../src/commands/manifests/fallback.ts'
import { SETTINGS } from '../src/config.ts'
import { resources } from '../src/resources/index.ts'
import { kubectlPath, KUBECTL_VERSIONS } from './kubectl.ts'

const FOLDER = join(import.meta.dirname, '..', 'deploy', 'crd')
const documents = (text: string): JsonObject[] => splitDocuments(text).map((document) => decodeYaml(document.text).value as JsonObject)

test('the committed files are not stale', () => {
  const files = fallbackManifests(resources)
  assert.deepEqual(readdirSync(FOLDER).sort(), [...files.keys()].sort())
  for (const [name, text] of files) assert.equal(readFileSync(join(FOLDER, name), 'utf8'), text, `${name} is stale: node src/launch.mjs manifests crd --output-dir deploy/crd`)
})

for (const version of KUBECTL_VERSIONS) {
  test(`kubectl 1.${version} kustomizes the folder`, () => {
    const built = documents(execFileSync(kubectlPath(version), ['kustomize', FOLDER], { encoding: 'utf8', maxBuffer: 1 << 26 }))
    const committed = [...fallbackManifests(resources)].filter(([name]) => name !== 'kustomization.yaml').flatMap(([, text]) => documents(text))
    const name = ({ kind, metadata }: JsonObject): string => `${String(kind)}/${String((metadata as JsonObject).name)}`
    assert.deepEqual(built.map(name).sort(), committed.map(name).sort())
    // One place says which image is meant, for the worker's pods too.
    // oxlint-disable-next-line typescript/no-explicit-any -- a manifest of our own
    const worker = built.find((object) => name(object) === 'Deployment/mlops-worker') as any
    const [container] = worker.spec.template.spec.containers
    assert.deepEqual([container.image, container.env], ['mlops-apiserver:latest', [{ name: 'MLOPS_POD_IMAGE', value: 'mlops-apiserver:latest' }]])
  })
}

test('the definition is one that a kube-apiserver takes, and small enough for kubectl apply', () => {
  const text = readFileSync(join(FOLDER, 'customresourcedefinition.yaml'), 'utf8')
  const { status, warnings, refused } = checkDefinition(Buffer.from(text), 'application/yaml', 'Strict')
  assert.deepEqual([status.status, warnings, refused], ['Success', [], []])
  const [definition] = documents(text)
  // kubectl apply keeps what it applied in an annotation.
  assert.ok(JSON.stringify(definition).length < 200 * 1024)
  assert.match(text, /strategy: Webhook/)
})

test('every container is given flags that the program knows, and is admitted by the restricted standard', () => {
  const flags = new Set<string>(Object.values(SETTINGS).map(({ flag }) => flag))
  const deployments = [...fallbackManifests(resources).values()].flatMap(documents).filter(({ kind }) => kind === 'Deployment')
  assert.equal(deployments.length, 2)
  for (const { spec } of deployments) {
    // oxlint-disable-next-line typescript/no-explicit-any -- a manifest of our own
    const pod = (spec as any).template.spec
    assert.deepEqual([pod.securityContext.runAsNonRoot, pod.securityContext.seccompProfile.type], [true, 'RuntimeDefault'])
    for (const { args, securityContext } of pod.containers) {
      for (const arg of args.slice(1)) assert.ok(flags.has(arg.split('=')[0]), arg)
      assert.deepEqual(securityContext, { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } })
    }
  }
})
