import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeJob } from './job.fixture.ts'
import { notebookEnvironment } from './local-attempt.ts'

test('a notebook has the environment of the user, without what npm and other Pythons have put there', () => {
  const request = { id: 'a.1', number: 1, job: makeJob() }
  const environment = {
    HOME: '/home/u',
    LANG: 'de_DE.UTF-8',
    PATH: '/x/node_modules/.bin:/node_modules/.bin:/usr/lib/node_modules/npm/node_modules/@npmcli/run-script/lib/node-gyp-bin:/usr/bin:/opt/bin',
    npm_config_cache: '/c',
    NPM_TOKEN: 'the user has set it',
    NODE: '/usr/bin/node',
    INIT_CWD: '/x',
    NODE_OPTIONS: '--inspect',
    NODE_EXTRA_CA_CERTS: '/ca',
    VIRTUAL_ENV: '/venv',
    PYTHONPATH: '/p',
    PIP_INDEX_URL: 'https://pip',
    MLOPS_PORT: '1',
  }
  assert.deepEqual(notebookEnvironment({ request, directory: '/d', environment }), {
    HOME: '/home/u',
    LANG: 'de_DE.UTF-8',
    PATH: '/usr/bin:/opt/bin',
    NPM_TOKEN: 'the user has set it',
    NODE_EXTRA_CA_CERTS: '/ca',
    PIP_INDEX_URL: 'https://pip',
    PYTHONUTF8: '1',
    JUPYTER_RUNTIME_DIR: '/d/jupyter',
    IPYTHONDIR: '/d/ipython',
    MLOPS_ATTEMPT: 'a.1',
  })
  assert.equal('PATH' in notebookEnvironment({ request, directory: '/d', environment: {} }), false)
})
