/** The real kubectl, in two minor versions, against the server: what a person types. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { startServer, type Harness } from '../harness.ts'
import { kubectl, kubectlPath, KUBECTL_VERSIONS, type KubectlResult } from '../kubectl.ts'

const job = (name: string, extra = '') => `apiVersion: mlops.dev/v1
kind: NotebookValidationJob
metadata:
  name: ${name}
spec:
  notebook:
    git: {url: "https://git.example/ml/nb.git"}
    path: a/train.ipynb
${extra}`

const alphaJob = (name: string) => `apiVersion: mlops.dev/v1alpha1
kind: NotebookValidationJob
metadata: {name: ${name}}
spec:
  notebook:
    git: {url: "https://git.example/ml/nb.git", path: a/train.ipynb}
`

function ok(result: KubectlResult): string {
  assert.equal(result.code, 0, `${result.stderr}\n${result.stdout}`)
  return result.stdout
}

for (const version of KUBECTL_VERSIONS) {
  describe(`kubectl 1.${version}`, { concurrency: 1 }, () => {
    let harness: Harness
    let k: ReturnType<typeof kubectl>
    before(async () => {
      harness = await startServer()
      k = kubectl(version, harness.kubeconfig)
    })
    after(() => harness[Symbol.asyncDispose]())

    test('create, get in every output form, delete', async () => {
      assert.match(ok(await k(['create', '-f', '-'], job('train'))), /notebookvalidationjob.mlops.dev\/train created/)
      const table = ok(await k(['get', 'nvj']))
      assert.match(table, /^NAME +STATUS +NOTEBOOK +CELLS +MISMATCHED +DURATION +AGE\ntrain +a\/train.ipynb +\d+s\n$/)
      assert.match(ok(await k(['get', 'nvj', '-o', 'wide'])), /COMMIT +POD +MESSAGE/)
      assert.match(ok(await k(['get', 'nvj', 'train', '-o', 'yaml'])), /activeDeadlineSeconds: 3600/)
      assert.equal(ok(await k(['get', 'nvj', '-o', 'name'])), 'notebookvalidationjob.mlops.dev/train\n')
      assert.equal(ok(await k(['get', 'nvj', 'train', '-o', 'jsonpath={.spec.notebook.git.revision}'])), 'main')
      assert.match(ok(await k(['get', 'nvj', '-o', 'custom-columns=N:.metadata.name,P:.spec.notebook.path'])), /train +a\/train.ipynb/)
      // kubectl expands a short name to the preferred version, whatever version stands beside it (client-go/restmapper/shortcut.go).
      assert.match(ok(await k(['get', 'nvj.v1alpha1.mlops.dev', 'train'])), /train/)
      const old = await k(['get', 'notebookvalidationjobs.v1alpha1.mlops.dev', 'train', '-o', 'yaml'])
      assert.match(ok(old), /apiVersion: mlops.dev\/v1alpha1[\s\S]*path: a\/train.ipynb/)
      assert.match(old.stderr, /Warning: .*v1alpha1.*deprecated/)
      assert.match(ok(await k(['describe', 'nvj', 'train'])), /Name: +train\n/)
      assert.match(ok(await k(['delete', 'nvj', 'train'])), /"train" deleted/)
      assert.match((await k(['get', 'nvj', 'train'])).stderr, /notebookvalidationjobs.mlops.dev "train" not found/)
    })

    test('client-side apply, diff, edit, patches, replace, label, annotate', async () => {
      ok(await k(['apply', '-f', '-'], job('edit')))
      assert.match(ok(await k(['apply', '-f', '-'], job('edit'))), /unchanged/)
      const diff = await k(['diff', '-f', '-'], job('edit', '  suspend: true\n'))
      assert.equal(diff.code, 1, diff.stderr)
      assert.match(diff.stdout, /\+ {2}suspend: true/)
      assert.match(ok(await k(['apply', '-f', '-'], job('edit', '  suspend: true\n'))), /configured/)
      ok(await k(['patch', 'nvj', 'edit', '--type', 'merge', '-p', '{"spec":{"ttlSecondsAfterFinished":60}}']))
      ok(await k(['patch', 'nvj', 'edit', '--type', 'json', '-p', '[{"op":"replace","path":"/spec/suspend","value":false}]']))
      assert.match((await k(['patch', 'nvj', 'edit', '-p', '{}'])).stderr, /strategic-merge-patch\+json is not supported/)
      assert.equal(ok(await k(['get', 'nvj', 'edit', '-o', 'jsonpath={.spec.suspend},{.spec.ttlSecondsAfterFinished}'])), 'false,60')
      ok(await k(['label', 'nvj', 'edit', 'team=a']))
      ok(await k(['annotate', 'nvj', 'edit', 'note=b']))
      assert.equal(ok(await k(['get', 'nvj', '-l', 'team=a', '-o', 'name'])).trim(), 'notebookvalidationjob.mlops.dev/edit')
      const whole = JSON.parse(ok(await k(['get', 'nvj', 'edit', '-o', 'json']))) as { metadata: { labels: Record<string, string> } }
      whole.metadata.labels.team = 'b'
      assert.match(ok(await k(['replace', '-f', '-'], JSON.stringify(whole))), /replaced/)
      const editor = join(harness.directory, 'editor.sh')
      writeFileSync(editor, '#!/bin/sh\nsed -i "s/team: b/team: c/" "$1"\n', { mode: 0o755 })
      process.env.KUBE_EDITOR = editor
      assert.match(ok(await k(['edit', 'nvj', 'edit'])), /edited/)
      assert.equal(ok(await k(['get', 'nvj', 'edit', '-o', 'jsonpath={.metadata.labels.team}'])), 'c')
      assert.match((await k(['patch', 'nvj', 'edit', '--type', 'merge', '-p', '{"spec":{"notebook":{"path":"other.ipynb"}}}'])).stderr, /field is immutable/)
    })

    test('server-side apply by two managers who conflict', async () => {
      const applied = (manager: string, extra: string, ...flags: string[]) => k(['apply', '--server-side', '--field-manager', manager, ...flags, '-f', '-'], job('shared', extra))
      ok(await applied('alice', '  suspend: true\n'))
      ok(await applied('alice', '  suspend: true\n'))
      const refused = await applied('bob', '  suspend: false\n')
      assert.equal(refused.code, 1)
      assert.match(refused.stderr, /Apply failed with 1 conflict: conflict with "alice": \.spec\.suspend/)
      ok(await applied('bob', '  suspend: false\n', '--force-conflicts'))
      const managers = ok(await k(['get', 'nvj', 'shared', '--show-managed-fields', '-o', 'jsonpath={range .metadata.managedFields[*]}{.manager} {.operation};{end}']))
      assert.deepEqual(managers.split(';').filter(Boolean).sort(), ['alice Apply', 'bob Apply'])
      assert.equal(ok(await k(['get', 'nvj', 'shared', '-o', 'jsonpath={.spec.suspend}'])), 'false')
    })

    test('explain, api-resources, wait', async () => {
      assert.match(ok(await k(['explain', 'nvj.spec.activeDeadlineSeconds'])), /VERSION: +v1\n[\s\S]*FIELD: activeDeadlineSeconds/)
      assert.match(ok(await k(['explain', 'nvj.spec.timeoutSeconds', '--api-version', 'mlops.dev/v1alpha1'])), /FIELD: timeoutSeconds/)
      assert.match(ok(await k(['explain', 'storagemigrations.spec.rate'])), /GROUP: +admin\.mlops\.dev\nKIND: +StorageMigration\nVERSION: +v1alpha1\n[\s\S]*FIELD: rate <integer>[\s\S]*Objects a second at most/)
      assert.match(ok(await k(['explain', 'storagetrims', '--recursive'])), /KIND: +StorageTrim\n[\s\S]* encodingVersion\t<string>/)
      const administration = ok(await k(['api-resources', '--api-group', 'admin.mlops.dev', '-o', 'wide']))
      assert.match(administration, /^storages +admin\.mlops\.dev\/v1alpha1 +false +Storage +get,list,patch,update *$/m)
      assert.match(administration, /^storagetrims +admin\.mlops\.dev\/v1alpha1 +false +StorageTrim +create *$/m)
      assert.match(ok(await k(['get', 'storages'])), /^NAME +WRITTEN AT +STORED +OBJECTS +NEXT\n/)
      assert.match(ok(await k(['api-resources'])), /notebookvalidationjobs +nvj +mlops.dev\/v1 +true +NotebookValidationJob/)
      assert.match(ok(await k(['api-versions'])), /mlops.dev\/v1alpha1/)
      ok(await k(['create', '-f', '-'], job('waits')))
      const waiting = k(['wait', 'nvj/waits', '--for', 'condition=Succeeded', '--timeout', '20s'])
      const status = { status: { conditions: [{ type: 'Succeeded', status: 'True', reason: 'Validated' }] } }
      await harness.send('PATCH', '/apis/mlops.dev/v1/namespaces/default/notebookvalidationjobs/waits/status', { body: status, type: 'application/merge-patch+json' })
      assert.match(ok(await waiting), /condition met/)
    })

    test('watch in one version sees writes through another', async () => {
      const watch = spawn(kubectlPath(version), ['--kubeconfig', harness.kubeconfig, 'get', 'notebookvalidationjobs.v1beta1.mlops.dev', '-w', '-o', 'jsonpath={.apiVersion} {.metadata.name} {.spec.notebook.path}{"\\n"}'])
      let seen = ''
      watch.stdout.on('data', (chunk: Buffer) => (seen += chunk.toString()))
      const until = async (pattern: RegExp) => {
        for (let i = 0; i < 200 && !pattern.test(seen); i++) await new Promise((resolve) => setTimeout(resolve, 50))
        assert.match(seen, pattern)
      }
      ok(await k(['create', '-f', '-'], alphaJob('seen')))
      await until(/mlops.dev\/v1beta1 seen a\/train.ipynb/)
      watch.kill('SIGTERM')
    })

    test('secrets and namespaces as kubectl sends them, and each cascade', async () => {
      ok(await k(['create', 'secret', 'generic', 'creds', '--from-literal', 'token=abc']))
      assert.equal(ok(await k(['get', 'secret', 'creds', '-o', 'jsonpath={.data.token} {.type}'])), 'YWJj Opaque')
      assert.match(ok(await k(['get', 'secrets'])), /NAME +TYPE +DATA +AGE\ncreds +Opaque +1/)
      const secret = (value: string) => `apiVersion: v1\nkind: Secret\nmetadata: {name: applied}\nstringData: {a: "${value}"}\n`
      ok(await k(['apply', '-f', '-'], secret('1')))
      ok(await k(['apply', '-f', '-'], secret('2')))
      assert.equal(ok(await k(['get', 'secret', 'applied', '-o', 'jsonpath={.data.a}'])), 'Mg==')
      ok(await k(['create', 'ns', 'team']))
      assert.match(ok(await k(['get', 'ns'])), /team +Active/)
      ok(await k(['-n', 'team', 'create', '-f', '-'], job('inside')))
      assert.match((await k(['-n', 'missing', 'create', '-f', '-'], job('inside'))).stderr, /namespaces "missing" not found/)
      assert.match((await k(['delete', 'ns', 'default'])).stderr, /namespaces "default" is forbidden/)
      for (const cascade of ['background', 'orphan', 'foreground']) {
        ok(await k(['create', '-f', '-'], job(cascade)))
        ok(await k(['delete', 'nvj', cascade, `--cascade=${cascade}`, '--wait=false']))
      }
    })
  })
}
