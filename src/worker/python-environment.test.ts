import assert from 'node:assert/strict'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { after, test } from 'node:test'
import { systemClock } from '../base/clock.ts'
import { failureOf } from './attempt-failure.ts'
import { preparePythonEnvironment, type PreparationProgress } from './python-environment.ts'

const work = mkdtempSync(join(tmpdir(), 'nvj-python-'))
after(() => rmSync(work, { recursive: true, force: true }))

/** A python that does what a shell script says: $1 is -m, -c or -I. */
function fakePython(name: string, script: string): string {
  const path = join(work, name)
  writeFileSync(path, `#!/bin/sh\n${script}\n`)
  chmodSync(path, 0o755)
  return path
}

// makes a "virtual environment" whose python is itself a script that knows pip and the check
const GOOD = `
case "$*" in
  *ensurepip*) echo 3.12 ;;
  "-m venv "*) mkdir -p "$3/bin"; echo venv >> "${work}/made"; cat > "$3/bin/python" <<'EOF'
#!/bin/sh
case "$*" in
  *"pip install"*) echo "Collecting nbclient==1"; echo "Collecting nbformat"; echo "Installing collected packages: nbclient, nbformat"; [ ! -e "${work}/offline" ] || { echo "ERROR: No matching distribution found for nbclient" >&2; exit 1; } ;;
  *) dir=$(dirname "$0")/..; [ ! -e "$dir/broken" ] ;;
esac
EOF
  chmod +x "$3/bin/python" ;;
esac`

const prepare = (directory: string, python: string, onProgress?: (progress: PreparationProgress) => void): Promise<string> =>
  preparePythonEnvironment({ directory: join(work, directory), python, environment: { PATH: '/usr/local/bin:/usr/bin:/bin' }, clock: systemClock, ...(onProgress ? { onProgress } : {}) })

const environments = (directory: string): string[] => readdirSync(join(work, directory), { withFileTypes: true }).filter((entry) => entry.isDirectory()).map(({ name }) => name)

async function messageOf(promise: Promise<unknown>): Promise<string> {
  const error = await promise.then(
    () => assert.fail('it did not fail'),
    (reason: unknown) => reason,
  )
  const { reason, class: failureClass, message } = failureOf(error)
  assert.equal(reason, 'RunnerUnavailable')
  return `${failureClass}: ${message}`
}

test('made once, told package by package, then found again', async () => {
  const python = fakePython('good', GOOD)
  const progress: PreparationProgress[] = []
  const path = await prepare('once', python, (step) => progress.push(step))
  assert.ok(existsSync(path))
  assert.deepEqual(progress.map(({ message }) => message), ['creating a virtual environment', 'fetching nbclient', 'fetching nbformat', 'installing packages', 'the Python environment is ready'])
  assert.equal(progress.at(-1)?.done, progress.at(-1)?.total)
  assert.equal(await prepare('once', '/nonexistent'), path)
})

test('a broken one and a half-made one are made again', async () => {
  const python = fakePython('good', GOOD)
  const path = await prepare('again', python)
  writeFileSync(join(path, '../../broken'), '')
  mkdirSync(join(work, 'again', '0123456789abcdef-99999999-abcdef12'))
  writeFileSync(join(work, 'again', '0123456789abcdef-99999999-abcdef12.owner'), '{"pid":99999999,"startTime":"1"}')
  const second = await prepare('again', python)
  assert.notEqual(second, path)
  assert.equal(await prepare('again', '/nonexistent'), second)
  assert.deepEqual(environments('again').toSorted(), [path, second].map((each) => basename(join(each, '../..'))).toSorted())
})

test('two at once do not disturb each other', async () => {
  const python = fakePython('good', GOOD)
  const [a, b] = await Promise.all([prepare('two', python), prepare('two', python)])
  assert.equal(a, b)
  assert.equal(environments('two').length, 1)
})

test('what is missing is named, with the package', async () => {
  assert.match(await messageOf(prepare('none', 'no-such-python')), /^Final: Python was not found as "no-such-python": install Python 3.9 .*python3-venv/)
  const old = fakePython('old', 'echo 3.6')
  assert.match(await messageOf(prepare('none', old)), /^Final: .* is Python 3.6; the runner needs 3.9/)
  const bare = fakePython('bare', 'echo 3.11; echo "ModuleNotFoundError: No module named \'ensurepip\'" >&2; exit 1')
  assert.match(await messageOf(prepare('none', bare)), /^Final: Python 3.11 has no module for virtual environments: install the package python3-venv/)
  const debian = fakePython('debian', 'case "$*" in *ensurepip*) echo 3.11 ;; *) echo "    apt install python3.11-venv"; exit 1 ;; esac')
  assert.match(await messageOf(prepare('none', debian)), /^Final: .*install the package python3.11-venv/)
})

test('packages that cannot be fetched are trouble of the infrastructure, and nothing is left behind', async () => {
  writeFileSync(join(work, 'offline'), '')
  assert.match(await messageOf(prepare('offline-place', fakePython('good', GOOD))), /^Infrastructure: .*No matching distribution found for nbclient/)
  rmSync(join(work, 'offline'))
  assert.deepEqual(readdirSync(join(work, 'offline-place')), [])
})
