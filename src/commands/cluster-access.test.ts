import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { ConfigError } from '../config.ts'
import { clusterAccess } from './cluster-access.ts'

const directory = mkdtempSync(join(tmpdir(), 'cluster-access-'))
after(() => rmSync(directory, { recursive: true }))

const write = (cluster: string, user: string): string => {
  const path = join(directory, 'kubeconfig')
  writeFileSync(path, `apiVersion: v1\nkind: Config\ncurrent-context: b\ncontexts:\n- {name: a, context: {cluster: none, user: none}}\n- {name: b, context: {cluster: c, user: u}}\nclusters:\n- name: c\n  cluster: ${cluster}\nusers:\n- name: u\n  user: ${user}\n`)
  return path
}

test('a kubeconfig says where kube-apiserver is and how to prove who we are; files are read each time', async () => {
  writeFileSync(join(directory, 'ca.crt'), 'CA')
  writeFileSync(join(directory, 'token'), 'one\n')
  const access = await clusterAccess(write('{server: "https://k:6443", tls-server-name: kubernetes, certificate-authority: ca.crt}', '{client-certificate-data: QQ==, client-key-data: Qg==, token: never, tokenFile: token}'), {})
  assert.deepEqual([access.server, access.tlsServerName], ['https://k:6443', 'kubernetes'])
  assert.deepEqual(await access.credentials(), { ca: 'CA', cert: 'A', key: 'B', token: 'one' })
  writeFileSync(join(directory, 'token'), 'two')
  assert.equal((await access.credentials()).token, 'two')
})

test('what a server cannot use is said at the start', async () => {
  const refuse = async (cluster: string, user: string, message: RegExp): Promise<void> => {
    await assert.rejects(clusterAccess(write(cluster, user), {}), (error: Error) => error instanceof ConfigError && message.test(error.message))
  }
  await refuse('{server: "http://k"}', '{}', /^--cluster: .*kubeconfig: the cluster's server must be an https URL, got "http:\/\/k"$/)
  await refuse('{server: "https://k", insecure-skip-tls-verify: true}', '{}', /insecure-skip-tls-verify/)
  await refuse('{server: "https://k"}', '{exec: {command: aws}}', /the user has exec/)
  await refuse('5', '{}', /no cluster "c"/)
  await assert.rejects(clusterAccess(join(directory, 'absent'), {}), ConfigError)
  await assert.rejects(clusterAccess('in-cluster', {}), /^ConfigError: --cluster: not in a pod/)
})
