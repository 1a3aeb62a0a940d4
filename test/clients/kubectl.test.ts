/** What a person types at a definition of their own, in two versions of kubectl. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { kubectl, kubectlPath, KUBECTL_VERSIONS, type KubectlResult } from '../kubectl.ts'
import { temporaryDirectory } from '../product.ts'
import { startTraining, type TrainingServer } from './serve.ts'

const run = (name: string, spec: string, labels = '') => `apiVersion: ml.example.com/v1
kind: TrainingRun
metadata: {name: ${name}${labels ? `, labels: {${labels}}` : ''}}
spec: {${spec}}
`

for (const version of KUBECTL_VERSIONS) {
  describe(`kubectl 1.${version} and a definition of one's own`, { concurrency: 1 }, () => {
    const stack = new AsyncDisposableStack()
    let server: TrainingServer
    let directory: string
    let k: ReturnType<typeof kubectl>
    before(async () => {
      directory = stack.use(temporaryDirectory('clients-')).path
      server = stack.use(await startTraining(directory))
      k = kubectl(version, server.kubeconfig)
    })
    after(() => stack.disposeAsync())

    const ok = ({ code, stdout, stderr }: KubectlResult): string => {
      assert.equal(code, 0, `${stderr}\n${stdout}`)
      return stdout
    }
    const type = async (...args: string[]): Promise<string> => ok(await k(args))
    const apply = async (manifest: string, ...args: string[]): Promise<string> => ok(await k(['apply', '-f', '-', ...args], manifest))
    const refused = async (args: readonly string[], message: RegExp, input?: string) => {
      const { code, stderr } = await k(args, input)
      assert.equal(code, 1, stderr)
      assert.match(stderr, message)
    }

    test('it is discovered, explained and expanded from its category', async () => {
      const resources = await type('api-resources', '--api-group', 'ml.example.com', '-o', 'wide')
      assert.match(resources, /checkpoints +ckpt +ml\.example\.com\/v1 +true +Checkpoint +delete,deletecollection,get,list,patch,create,update,watch +ml/)
      assert.match(resources, /trainingruns +tr +ml\.example\.com\/v1 +true +TrainingRun +\S+ +all,ml/)
      assert.match(await type('api-versions'), /^ml\.example\.com\/v1\nml\.example\.com\/v1alpha1$/m)
      assert.match(await type('explain', 'tr.spec.replicas'), /GROUP: +ml\.example\.com\nKIND: +TrainingRun\nVERSION: +v1\n[\s\S]*FIELD: replicas <integer>[\s\S]*How many workers train\./)
      assert.match(await type('explain', 'tr', '--recursive', '--api-version', 'ml.example.com/v1alpha1'), /workers\t<integer>/)
      assert.match(await type('explain', 'tr.status.conditions'), /FIELD: conditions <\[\]Object>[\s\S]*reason\t<string> -required-/)
    })

    test('as somebody else', async () => {
      await refused(['get', 'tr', '--as', 'nobody'], /User "nobody" cannot list resource "trainingruns" in API group "ml\.example\.com" in the namespace "default"/)
      await type('get', 'tr', '--as', 'nobody', '--as-group', 'system:masters')
    })

    test('tables of each version, wide and by category', async () => {
      await apply(run('table', 'image: i, replicas: 2, credentialsRef: {name: creds}'))
      assert.match(await type('get', 'tr'), /^NAME +IMAGE +DESIRED +CURRENT +READY +AGE\ntable +i +2 +\d+s\n$/)
      assert.match(await type('get', 'tr', '-o', 'wide'), /^NAME +IMAGE +DESIRED +CURRENT +READY +SECRET +AGE\ntable +i +2 +creds +\d+s\n$/)
      const old = await k(['get', 'trainingruns.v1alpha1.ml.example.com'])
      assert.match(ok(old), /^NAME +WORKERS\ntable +2\n$/)
      assert.match(old.stderr, /Warning: ml\.example\.com\/v1alpha1 TrainingRun is deprecated; use v1/)
      assert.equal(await type('get', 'all', '-o', 'name'), 'trainingrun.ml.example.com/table\n')
      assert.match(await type('get', 'ml', '-A', '--show-kind', '--show-labels'), /NAMESPACE[\s\S]*default +trainingrun\.ml\.example\.com\/table .*<none>/)
      assert.equal(await type('get', 'tr', '--field-selector', 'spec.image=i', '-o', 'name'), 'trainingrun.ml.example.com/table\n')
      assert.match(await type('describe', 'tr', 'table'), /API Version: +ml\.example\.com\/v1\n[\s\S]*Credentials Ref:\n +Name: +creds/)
      assert.equal(await type('get', 'tr', '--sort-by', '.spec.replicas', '-o', 'custom-columns=N:.metadata.name', '--no-headers'), 'table\n')
    })

    test('scale, patches of subresources, and waiting for them', async () => {
      await apply(run('scaled', 'image: i'))
      assert.match(await type('scale', 'tr/scaled', '--replicas=4', '--current-replicas=1'), /scaled/)
      await refused(['scale', 'tr/scaled', '--replicas=2', '--current-replicas=1'], /Expected replicas to be 1, was 4/)
      await refused(['scale', 'tr/scaled', '--replicas=11'], /more than 10 replicas need credentials/)
      const condition = '{"type":"Ready","status":"True","reason":"Trained","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}'
      const waiting = k(['wait', 'tr/scaled', '--for', 'condition=Ready', '--timeout', '30s'])
      await type('patch', 'tr', 'scaled', '--subresource', 'status', '--type', 'merge', '-p', `{"spec":{"replicas":9},"status":{"replicas":3,"conditions":[${condition}]}}`)
      assert.match(ok(await waiting), /condition met/)
      assert.equal(await type('get', 'tr', 'scaled', '-o', 'jsonpath={.spec.replicas} {.status.replicas} {.metadata.generation}'), '4 3 2')
      assert.match(await type('wait', 'tr/scaled', '--for', 'jsonpath={.status.replicas}=3', '--timeout', '30s'), /condition met/)
      assert.match(await type('get', 'tr', 'scaled', '--subresource', 'scale', '-o', 'yaml'), /kind: Scale[\s\S]*replicas: 4[\s\S]*status:\n +replicas: 3/)
      await type('patch', 'tr', 'scaled', '--subresource', 'scale', '--type', 'merge', '-p', '{"spec":{"replicas":5}}')
      await type('scale', 'trainingruns.v1alpha1.ml.example.com/scaled', '--replicas=6')
      assert.equal(await type('get', 'tr', 'scaled', '-o', 'jsonpath={.spec.replicas}'), '6')
    })

    test('edit, also of a subresource and into what is refused; diff; replace', async () => {
      await apply(run('edited', 'image: i'))
      const edit = (expression: string, ...args: string[]) => {
        const editor = join(directory, 'editor.sh')
        writeFileSync(editor, `#!/bin/sh\nsed -i '${expression}' "$1"\n`, { mode: 0o755 })
        return k(['edit', 'tr', 'edited', ...args], undefined, { KUBE_EDITOR: editor })
      }
      assert.match(ok(await edit('s/replicas: 1/replicas: 2/')), /edited/)
      assert.match(ok(await edit('s/^  replicas: 2/  replicas: 2\\n  args: [fast]/')), /edited/)
      assert.match((await edit('s/image: i/image: j/')).stderr, /trainingruns\.ml\.example\.com "edited" is invalid\nA copy of your changes has been stored/)
      assert.match(ok(await edit('$ a status: {replicas: 7}', '--subresource', 'status')), /edited/)
      assert.equal(await type('get', 'tr', 'edited', '-o', 'jsonpath={.spec.args} {.spec.replicas} {.status.replicas}'), '["fast"] 2 7')
      const diff = await k(['diff', '-f', '-'], run('edited', 'image: i, replicas: 5'))
      assert.equal(diff.code, 1, diff.stderr)
      assert.match(diff.stdout, /^-  replicas: 2\n\+  replicas: 5$/m)
      assert.equal((await k(['diff', '--server-side', '--field-manager', 'x', '-f', '-'], run('edited', 'image: i'))).code, 0)
      const side = await k(['diff', '--server-side', '--force-conflicts', '--field-manager', 'x', '-f', '-'], run('edited', 'image: i, replicas: 5'))
      assert.match(side.stdout, /^-  replicas: 2\n\+  replicas: 5$/m)
      assert.match(ok(await k(['replace', '-f', '-'], run('edited', 'image: i, replicas: 8'))), /replaced/)
      await refused(['replace', '-f', '-'], /spec\.image: Invalid value: "k": image is immutable/, run('edited', 'image: k'))
      assert.match(ok(await k(['replace', '--force', '-f', '-'], run('edited', 'image: k'))), /replaced/)
    })

    test('apply: by two managers who conflict, with an unknown field, of two versions', async () => {
      const side = (manager: string, spec: string, ...args: string[]) => k(['apply', '--server-side', '--field-manager', manager, '-f', '-', ...args], run('shared', spec))
      ok(await side('alice', 'image: i, replicas: 2'))
      const { code, stderr } = await side('bob', 'image: i, replicas: 3')
      assert.equal(code, 1)
      assert.match(stderr, /error: Apply failed with 1 conflict: conflict with "alice": \.spec\.replicas\nPlease review the fields above--they currently have other managers\./)
      ok(await side('bob', 'image: i, replicas: 3', '--force-conflicts'))
      await refused(['apply', '-f', '-'], /strict decoding error: unknown field "spec\.wrokers"/, run('shared', 'image: i, wrokers: 3'))
      const warned = await k(['apply', '--server-side', '--validate=warn', '--field-manager', 'bob', '-f', '-'], run('shared', 'image: i, replicas: 3, env: [{name: A, valeu: b}]'))
      assert.equal(warned.code, 1, 'an apply of a field that the schema does not have is refused whatever is validated')
      const old = run('shared', 'image: i, workers: 3').replace('/v1\n', '/v1alpha1\n')
      const conflict = await k(['apply', '--server-side', '--field-manager', 'carol', '-f', '-'], old.replace('workers: 3', 'workers: 4'))
      assert.match(conflict.stderr, /conflict with "bob": \.spec\.replicas\n/, 'in the terms of who owns it')
      ok(await k(['apply', '--server-side', '--field-manager', 'carol', '-f', '-'], old))
    })

    test('apply --prune takes away what is not applied any more', async () => {
      const both = `${run('kept', 'image: i', 'set: a')}---\n${run('pruned', 'image: i', 'set: a')}`
      await apply(both, '--prune', '-l', 'set=a', '--prune-allowlist', 'ml.example.com/v1/TrainingRun')
      assert.match(await apply(run('kept', 'image: i', 'set: a'), '--prune', '-l', 'set=a', '--prune-allowlist', 'ml.example.com/v1/TrainingRun'), /pruned pruned/)
      const set = async (manifest: string) => ok(await k(['apply', '--server-side', '--prune', '--applyset', 'secrets/training', '-n', 'default', '-f', '-'], manifest, { KUBECTL_APPLYSET: 'true' }))
      await set(`${run('in', 'image: i')}---\n${run('out', 'image: i')}`)
      assert.match(await set(run('in', 'image: i')), /trainingrun\.ml\.example\.com\/out pruned/)
      assert.equal(await type('get', 'tr', '-l', 'applyset.kubernetes.io/part-of', '-o', 'name'), 'trainingrun.ml.example.com/in\n')
    })

    test('watches tell what happens', async () => {
      let seen = ''
      const until = async (pattern: RegExp) => {
        for (let i = 0; i < 300 && !pattern.test(seen); i++) await sleep(50)
        assert.match(seen, pattern)
      }
      await apply(run('watched', 'image: i'))
      const watch = spawn(kubectlPath(version), ['--kubeconfig', server.kubeconfig, 'get', 'tr', 'watched', '--watch', '--output-watch-events', '--no-headers'])
      watch.stdout.on('data', (chunk: Buffer) => (seen += chunk.toString()))
      await until(/ADDED +watched +i +1/)
      await type('scale', 'tr/watched', '--replicas=2')
      await until(/MODIFIED +watched +i +2/)
      await type('delete', 'tr', 'watched')
      await until(/DELETED +watched +i +2/)
      watch.kill()
    })

    test('delete: each cascade, by label, and one that a finalizer holds', async () => {
      for (const cascade of ['background', 'foreground', 'orphan']) {
        await apply(run('owner', 'image: i'))
        const uid = await type('get', 'tr', 'owner', '-o', 'jsonpath={.metadata.uid}')
        const reference = `{apiVersion: ml.example.com/v1, kind: TrainingRun, name: owner, uid: ${uid}, blockOwnerDeletion: true}`
        await apply(`{apiVersion: ml.example.com/v1, kind: Checkpoint, metadata: {name: of-${cascade}, ownerReferences: [${reference}]}}`)
        assert.match(await type('delete', 'tr', 'owner', `--cascade=${cascade}`, '--timeout=30s'), /"owner" deleted/)
        if (cascade !== 'orphan') await type('wait', `ckpt/of-${cascade}`, '--for=delete', '--timeout=30s')
        else assert.equal(await type('get', 'ckpt', 'of-orphan', '-o', 'jsonpath={.metadata.ownerReferences}'), '')
      }
      await apply(run('held', 'image: i', 'held: "yes"').replace('metadata: {', 'metadata: {finalizers: [example.com/hold], '))
      assert.match(await type('delete', 'tr', '-l', 'held=yes', '--wait=false'), /deleted/)
      assert.match((await k(['wait', 'tr/held', '--for=delete', '--timeout=1s'])).stderr, /timed out waiting for the condition/)
      await type('patch', 'tr', 'held', '--type=json', '-p', '[{"op":"remove","path":"/metadata/finalizers"}]')
      await type('wait', 'tr/held', '--for=delete', '--timeout=30s')
      await type('delete', 'tr', '--all')
      assert.equal(await type('get', 'tr', '-o', 'name'), '')
    })
  })
}
