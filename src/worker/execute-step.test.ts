import assert from 'node:assert/strict'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { systemClock } from '../base/clock.ts'
import { execute } from './execute-step.ts'
import { makeJob } from './job.fixture.ts'
import type { JobSpec } from './job.ts'
import { DEFAULT_NORMALIZERS, normalize } from './normalize.ts'
import { ATTEMPT_MARK, findMarked, killMarked, readStartTime, startProcess } from './process-group.ts'
import { prepareTestPython, testEnvironment } from './python-environment.fixture.ts'
import type { CellRecord, EndRecord, NotebookRecord, RunnerRecord } from './records.ts'
import type { Failure } from './report-types.ts'

const work = mkdtempSync(join(tmpdir(), 'nvj-execute-'))
let python = ''
before(async () => {
  python = await prepareTestPython()
}, { timeout: 300_000 })
after(() => rmSync(work, { recursive: true, force: true }))

type Cell = string | { source: string; tags?: string[]; type?: string }
const KERNEL = { kernelspec: { name: 'python3', language: 'python', display_name: 'Python 3' } }

function notebook(cells: readonly Cell[], metadata: object = KERNEL): string {
  const made = cells.map((cell, i) => {
    const { source, tags = [], type = 'code' } = typeof cell === 'string' ? { source: cell } : cell
    return { cell_type: type, id: `c${i}`, metadata: { tags }, source, ...(type === 'code' ? { execution_count: null, outputs: [] } : {}) }
  })
  return JSON.stringify({ nbformat: 4, nbformat_minor: 5, metadata, cells: made })
}

type Result = { records: RunnerRecord[]; failure: Failure | undefined; directory: string; notebook: NotebookRecord | undefined; cells: CellRecord[]; end: EndRecord | undefined }

let count = 0
async function run(text: string, more: { execution?: JobSpec['execution']; spec?: Partial<JobSpec>; deadlineMs?: number; onRecord?: (record: RunnerRecord) => void; signal?: AbortSignal; mark?: string; environment?: Record<string, string> } = {}): Promise<Result> {
  const directory = mkdtempSync(join(work, `${count++}-`))
  const path = join(directory, 'n.ipynb')
  writeFileSync(path, text)
  const records: RunnerRecord[] = []
  const failure = await execute({
    directory,
    python,
    spec: { ...makeJob({ spec: more.spec ?? {} }).spec, ...(more.execution ? { execution: more.execution } : {}) },
    checkout: directory,
    notebook: path,
    deadlineMs: more.deadlineMs ?? 60_000,
    environment: { ...testEnvironment(), [ATTEMPT_MARK]: more.mark ?? 'execute-test', IPYTHONDIR: join(directory, 'ipython'), JUPYTER_RUNTIME_DIR: join(directory, 'jupyter'), ...more.environment },
    onRecord: (record) => {
      records.push(record)
      more.onRecord?.(record)
    },
    clock: systemClock,
    signal: more.signal ?? new AbortController().signal,
  })
  return {
    records,
    failure,
    directory,
    notebook: records.find((record) => record.type === 'notebook'),
    cells: records.filter((record) => record.type === 'cell'),
    end: records.find((record) => record.type === 'end'),
  }
}

/** What the runner says of notebooks that it only reads, all in one process. */
async function readAll(texts: readonly string[]): Promise<string[]> {
  const directory = mkdtempSync(join(work, 'read-'))
  const paths = texts.map((_, i) => join(directory, `${i}.ipynb`))
  for (const [i, path] of paths.entries()) writeFileSync(path, texts[i]!)
  const script = 'import sys; sys.path.insert(0, sys.argv[1])\nfrom notebook import End, read_notebook\nfor path in sys.argv[2:]:\n  try: read_notebook(path); print("fine")\n  except End as end: print(end.record["message"])'
  const exit = await startProcess({ command: python, args: ['-I', '-B', '-c', script, join(import.meta.dirname, 'runner'), ...paths], environment: testEnvironment(), clock: systemClock }).exited
  assert.equal(exit.code, 0, exit.stderr)
  return exit.stdout.trim().split('\n')
}

const outcomes = ({ cells }: Result): string[] => cells.map(({ index, outcome }) => `${index} ${outcome}`)
const streamOf = (cell: CellRecord | undefined): unknown => cell?.outputs.map(({ name, text }) => [name, text])

// a kernel takes a second to start: the machine has at least two cores
describe('the runner', { concurrency: 4, timeout: 120_000 }, () => {
  test('all cells, their outputs and what they raised', async () => {
    const result = await run(
      notebook([
        { source: '# title', type: 'markdown' },
        'import sys\nprint("a", flush=True)\nprint("err", file=sys.stderr, flush=True)\nprint("b")\n1 + 1',
        '   \n',
        { source: '1 / 0', tags: ['raises-exception'] },
        { source: '1 / 0', tags: ['nbval-raises-exception'] },
        { source: 'x', tags: ['skip-execution'] },
        { source: 'x', tags: ['nbval-skip'] },
        { source: '1', tags: ['raises-exception'] },
        'raise KeyError("k")',
        'print("1%\\r50%\\r99%")\nprint("abc\\b\\bX")',
      ]),
      { execution: { allowedErrorNames: ['KeyError'] } },
    )
    assert.deepEqual(outcomes(result), ['1 Succeeded', '2 Skipped', '3 Succeeded', '4 Succeeded', '5 Skipped', '6 Skipped', '7 Succeeded', '8 Succeeded', '9 Succeeded'])
    const [first, , raised, , , , silent, allowed, progress] = result.cells
    assert.deepEqual(streamOf(first)?.toString(), [['stdout', 'a\nb\n'], ['stderr', 'err\n'], [undefined, undefined]].toString(), 'streams are coalesced, stdout first')
    assert.deepEqual([raised?.error?.name, raised?.expectsError], ['ZeroDivisionError', true])
    assert.deepEqual([silent?.error, silent?.expectsError], [undefined, true])
    assert.equal(allowed?.error?.name, 'KeyError')
    assert.deepEqual(streamOf(progress), [['stdout', '99%\naX\n']])
    assert.equal(result.end?.outcome, 'Completed')
    assert.equal(result.failure, undefined)
    assert.deepEqual(result.notebook?.cells.map(({ id, type }) => `${id} ${type}`).slice(0, 2), ['c0 Markdown', 'c1 Code'])
    const executed = JSON.parse(readFileSync(join(result.directory, 'executed.ipynb'), 'utf8'))
    assert.equal(executed.cells[1].execution_count, 1)
    assert.deepEqual(existsSync(join(result.directory, 'n.ipynb')), true)
  })

  test('the first failed cell ends the run, unless the job says otherwise', async () => {
    const cells = ['1', '%no_such_magic', '3']
    const fast = await run(notebook(cells))
    assert.deepEqual(outcomes(fast), ['0 Succeeded', '1 Failed'], 'the reply decides: a bad magic prints no error')
    assert.deepEqual([fast.end?.outcome, fast.end?.cell], ['Completed', 1])
    const all = await run(notebook(cells), { execution: { errorPolicy: 'Continue' } })
    assert.deepEqual(outcomes(all), ['0 Succeeded', '1 Failed', '2 Succeeded'])
  })

  test('a cell that takes no interrupt does not hold up the end', async () => {
    const deaf = 'import time\nwhile True:\n  try: time.sleep(60)\n  except KeyboardInterrupt: pass'
    const result = await run(notebook([deaf, '2']), { execution: { cellTimeoutSeconds: 1 } })
    assert.deepEqual([outcomes(result), result.end?.outcome], [['0 TimedOut'], 'CellTimeout'])
  })

  test('a cell that takes too long is interrupted, and nothing runs after it', async () => {
    const slow = await run(notebook(['import time; print("on", flush=True); time.sleep(60)', '2']), { execution: { cellTimeoutSeconds: 1, errorPolicy: 'Continue' } })
    assert.deepEqual(outcomes(slow), ['0 TimedOut'])
    assert.deepEqual([slow.end?.outcome, slow.end?.cell, slow.end?.message], ['CellTimeout', 0, 'cell 0 did not end within 1 s'])
    assert.deepEqual(slow.cells[0]?.outputs[0]?.text, 'on\n')
  })

  test('the deadline of the job ends the run with what there is', async () => {
    const result = await run(notebook(['1', 'import time; time.sleep(60)', '3']), { deadlineMs: 3_000 })
    assert.deepEqual(outcomes(result), ['0 Succeeded', '1 TimedOut'])
    assert.deepEqual([result.end?.outcome, result.end?.cell], ['DeadlineExceeded', 1])
  })

  test('a dead kernel is told apart', async () => {
    const result = await run(notebook(['print("last words", flush=True)', 'import os, signal; os.kill(os.getpid(), signal.SIGKILL)', '3']))
    assert.deepEqual(outcomes(result), ['0 Succeeded', '1 KernelDied'])
    assert.equal(result.end?.outcome, 'KernelDied')
    assert.match(result.end?.message ?? '', /the kernel died in cell 1 \(killed by signal 9/)
  })

  test('the kernel: of the job, of the notebook, else one of its language', async () => {
    const strange = await run(notebook(['print("é", "日本")'], { kernelspec: { name: 'my-conda-env', language: 'python', display_name: 'x' } }))
    assert.deepEqual([strange.notebook?.kernelName, streamOf(strange.cells[0])], ['python3', [['stdout', 'é 日本\n']]])
    const bare = await run(notebook(['1'], {}))
    assert.equal(bare.end?.outcome, 'Completed')
    const julia = await run(notebook(['1'], { kernelspec: { name: 'julia-1.9', language: 'julia', display_name: 'x' } }))
    assert.deepEqual([julia.end?.outcome, julia.notebook?.kernelName, julia.cells.length], ['KernelNotFound', 'julia-1.9', 0])
    assert.match(julia.end?.message ?? '', /the kernel "julia-1.9" is not installed; installed kernels: .*python3/)
    const asked = await run(notebook(['1']), { execution: { kernelName: 'mine' } })
    assert.equal(asked.end?.outcome, 'KernelNotFound', 'what the job names is not replaced')
  })

  test('what is no notebook is refused with its place', async () => {
    const cases: [string, RegExp][] = [
      ['{"cells": [}', /not JSON: .* at line 1 column 12/],
      ['[]', /not a JSON object/],
      ['{}', /"nbformat" must be an integer/],
      ['{"nbformat": null, "nbformat_minor": null}', /must be an integer/],
      ['{"nbformat": 7, "nbformat_minor": 0}', /format 7.0 is not supported/],
      ['{"nbformat": 3, "nbformat_minor": 0, "metadata": {}}', /no list "worksheets"/],
      ['{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [{"cell_type": "code", "id": "a", "metadata": {}, "outputs": [], "execution_count": null, "source": 5}]}', /cells\[0\]\.source: 5 /],
      ['{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [7]}', /cannot be read|not valid/],
      [`${'['.repeat(100_000)}`, /nested too deep|not JSON/],
      ['\ufeff{"nbformat": 4, "nbformat_minor": 5}', /no list "cells"/],
    ]
    const messages = await readAll(cases.map(([text]) => text))
    for (const [i, [, message]] of cases.entries()) assert.match(messages[i] ?? '', message)
    assert.equal((await run('{')).end?.outcome, 'NotebookInvalid')
  })

  test('old formats and missing ids are mended in memory', async () => {
    const old = await run(JSON.stringify({ nbformat: 3, nbformat_minor: 0, metadata: { name: '' }, worksheets: [{ metadata: {}, cells: [{ cell_type: 'code', language: 'python', collapsed: false, input: 'print(3)', outputs: [], prompt_number: 1, metadata: {} }] }] }))
    assert.deepEqual([old.notebook?.nbformat, old.notebook?.cells[0]?.id, streamOf(old.cells[0])], ['3.0', '', [['stdout', '3\n']]])
    assert.match(readFileSync(join(old.directory, 'n.ipynb'), 'utf8'), /"nbformat":3/, 'the file itself is left alone')
  })

  test('stored outputs are told when they are the reference', async () => {
    const stored = JSON.parse(notebook(['1']))
    stored.cells[0].outputs = [{ output_type: 'stream', name: 'stdout', text: ['a\n', 'b\n'] }]
    const spec = { comparison: { reference: 'StoredOutputs' as const } }
    const result = await run(JSON.stringify(stored), { spec })
    assert.deepEqual(result.notebook?.cells[0]?.storedOutputs, [{ output_type: 'stream', name: 'stdout', text: 'a\nb\n' }])
  })

  test('input() fails with a hint, and a flood of output is cut', async () => {
    const result = await run(notebook(['for _ in range(80): print("x" * 100_000)', 'input()']))
    const [flood, asked] = result.cells
    assert.equal(flood?.outputsTruncated, true)
    assert.ok(JSON.stringify(flood).length < 5 * 1024 ** 2)
    assert.match(asked?.error?.value ?? '', /a validation has no keyboard/)
  })

  test('cancelled while a cell runs: an end record, and nothing lives on', async () => {
    const [abort, mark] = [new AbortController(), systemClock.uuid()]
    const run1 = run(notebook(['import subprocess, sys, time\nsubprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True)\ntime.sleep(60)']), {
      mark,
      signal: abort.signal,
      onRecord: (record) => record.type === 'cell-start' && setImmediate(() => abort.abort(new Error('cancelled'))),
    })
    await assert.rejects(run1, /cancelled/)
    await killMarked(mark, systemClock)
    assert.deepEqual(await findMarked(mark), [])
  })

  test('a runner that is killed is no success', async () => {
    const mark = systemClock.uuid()
    const result = await run(notebook(['1', 'import os, signal; os.kill(os.getppid(), signal.SIGKILL)']), { mark })
    assert.deepEqual(await findMarked(mark), [])
    assert.equal(result.end, undefined)
    assert.deepEqual(result.failure, { reason: 'RunnerUnavailable', message: 'the runner ended without a result (killed by signal 9, SIGKILL) while cell 2 (index 1) was running' })
  })

  // forks twice, into a session of its own and an environment without the mark
  const DAEMON = [
    'import os, time',
    'if os.fork() == 0:',
    '    os.setsid()',
    '    if os.fork() == 0:',
    '        open("daemon.pid", "w").write(str(os.getpid()))',
    '        os.chdir("/")',
    '        os.closerange(0, 1000)',
    '        os.execve("/bin/sleep", ["sleep", "300"], {})',
    '    os._exit(0)',
    'while not os.path.exists("daemon.pid") or not open("daemon.pid").read(): time.sleep(0.01)',
  ].join('\n')

  test('a daemon without a trace of its origin ends with the run, also when the runner was killed', { skip: process.platform === 'linux' ? false : 'needs a subreaper' }, async () => {
    for (const last of ['1', 'os.kill(os.getppid(), 9)']) {
      const result = await run(notebook([DAEMON, last]))
      const pid = Number(readFileSync(join(result.directory, 'daemon.pid'), 'utf8'))
      assert.ok(pid > 1)
      assert.equal(await readStartTime(pid), undefined, `after ${last}`)
    }
  })

  test('the kernel talks over sockets that only its user can reach, and nothing is left of them', { skip: process.platform === 'win32' ? 'needs Unix sockets' : false }, async () => {
    const show = 'import ipykernel, json, os; at = json.load(open(ipykernel.get_connection_file())); print(at["transport"], os.path.dirname(at["ip"]), oct(os.stat(os.path.dirname(at["ip"])).st_mode & 0o777))'
    const result = await run(notebook([show]))
    const [transport, directory, mode] = String(result.cells[0]?.outputs[0]?.text).trim().split(' ')
    assert.deepEqual([transport, mode], ['ipc', '0o700'])
    assert.equal(existsSync(directory!), false)
  })

  function kernelspec(command: string): Record<string, string> {
    const path = mkdtempSync(join(work, 'jupyter-'))
    mkdirSync(join(path, 'kernels/mine'), { recursive: true })
    const argv = ['/bin/sh', '-c', `[ -e "${path}/tried" ] && mode=again; touch "${path}/tried"; ${command}`, '{connection_file}']
    writeFileSync(join(path, 'kernels/mine/kernel.json'), JSON.stringify({ argv, display_name: 'mine', language: 'python' }))
    return { JUPYTER_PATH: path }
  }

  test('a kernel that does not start by chance is started once more, on TCP', async () => {
    const environment = kernelspec(`[ "$mode" = again ] || exit 3; exec "${python}" -m ipykernel_launcher -f "$0"`)
    const result = await run(notebook(['import ipykernel, json; print(json.load(open(ipykernel.get_connection_file()))["transport"])']), { execution: { kernelName: 'mine' }, environment })
    assert.deepEqual(streamOf(result.cells[0]), [['stdout', 'tcp\n']])
    const never = await run(notebook(['1']), { execution: { kernelName: 'mine' }, environment: kernelspec('exit 3') })
    assert.deepEqual([never.end?.outcome, never.cells], ['KernelStartFailed', []])
    assert.match(never.end?.message ?? '', /the kernel "mine" did not start: Kernel died/)
    assert.deepEqual(readdirSync(never.directory).filter((name) => name.startsWith('kernel')), [])
  })

  test('python and pip in a notebook are those of its kernel', async () => {
    const result = await run(notebook(['import os, subprocess, sys\nprint(subprocess.run(["python", "-c", "import sys; print(sys.prefix)"], capture_output=True, text=True).stdout.strip() == sys.prefix)', 'print(os.environ["VIRTUAL_ENV"] == sys.prefix)', 'found = !pip --version\nprint([line.startswith("pip ") and f"from {sys.prefix}/" in line for line in found])']))
    assert.deepEqual(result.cells.map(streamOf).flat(), ['True', 'True', '[True]'].map((said) => ['stdout', `${said}\n`]))
  })

  test('a flood of small prints is kept up to the cap, in order, with what came in between', async () => {
    const result = await run(notebook(['import sys\nfor i in range(20000): print(i, flush=i % 10 == 0)\nprint("e", file=sys.stderr, flush=True)\nfor i in range(100): print("x" * 50_000, flush=True)']))
    const [stdout, stderr] = result.cells[0]!.outputs as { name: string; text: string }[]
    assert.deepEqual([stdout?.name, stderr?.text, result.cells[0]?.outputsTruncated], ['stdout', 'e\n', true])
    assert.ok(stdout!.text.startsWith(Array.from({ length: 20_000 }, (_, i) => `${i}\n`).join('')))
    assert.ok(Math.abs(stdout!.text.length - 4 * 1024 ** 2) < 10)
  })

  test('a warning of a cell says the same in every run, once it is normalized', async () => {
    const text = async (): Promise<string> => String((await run(notebook(['import warnings\nwarnings.warn("old")']))).cells[0]?.outputs[0]?.text)
    const [a, b] = await Promise.all([text(), text()])
    assert.match(a, /ipykernel_\d+\/\d+\.py:2: UserWarning: old/)
    assert.notEqual(a, b)
    assert.equal(normalize(a, new Set(DEFAULT_NORMALIZERS)), normalize(b, new Set(DEFAULT_NORMALIZERS)))
  })

  test('cleared outputs begin anew', async () => {
    const result = await run(notebook(['from IPython.display import clear_output, display\nprint("a", flush=True); clear_output(); print("b", flush=True); display(1)', 'print("a", flush=True); clear_output(wait=True); print("b", flush=True); print("c")']))
    assert.deepEqual(result.cells.map(streamOf), [[['stdout', 'b\n'], [undefined, undefined]], [['stdout', 'b\nc\n']]])
  })
})
