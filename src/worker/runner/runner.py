"""Executes one notebook and writes what became of each cell, one JSON record a line (the format is ../records.ts).

    python -I supervise.py python -I runner.py DIRECTORY

reads DIRECTORY/runner.json (the settings, see Settings), appends to DIRECTORY/records.ndjson and leaves the executed
notebook in DIRECTORY/executed.ipynb. The exit status is 0 whenever the verdict is in the records. It needs nothing but
nbclient and nbformat, which every Jupyter image carries.
"""
import asyncio
import json
import os
import signal
import sys
import time
from dataclasses import dataclass, field

import nbformat
from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel
from nbclient.exceptions import DeadKernelError

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))  # isolated mode leaves it out
from client import Client  # noqa: E402
from notebook import End, as_dict, notebook_record, read_notebook, tags_of  # noqa: E402
from outputs import coalesce  # noqa: E402

INTERRUPT_GRACE_SECONDS = 10
MAX_TRACEBACK_CHARACTERS = 64 << 10
SKIP_TAGS = {"skip-execution", "nbval-skip"}
ERROR_TAGS = {"raises-exception", "nbval-raises-exception"}
INPUT_HINT = "a validation has no keyboard, so input() cannot be answered"


@dataclass
class Settings:
    """The fields of runner.json. Paths are absolute, times in seconds."""

    notebook: str
    workingDirectory: str
    kernelName: str = ""
    cellTimeoutSeconds: float = 0
    startupTimeoutSeconds: float = 60
    deadlineSeconds: float = 3600
    errorPolicy: str = "FailFast"
    allowedErrorNames: list = field(default_factory=list)
    storedOutputs: bool = False
    socketDirectory: str = ""


class Records:
    """Appends records; each one is on disk before the next step begins, so that a killed runner leaves them readable."""

    def __init__(self, path):
        self.file = open(path, "w", encoding="utf-8", errors="replace", newline="\n")

    def write(self, record):
        # surrogates that JSON cannot carry as UTF-8 become "?"
        self.file.write(json.dumps(record, ensure_ascii=False, allow_nan=False, default=str) + "\n")
        self.file.flush()


def choose_kernel(asked, metadata):
    """(name, language) of the kernel to start. What the job names must be there; what the notebook names may be
    replaced by another kernel of its language, since such names are often those of somebody's own environment."""
    specs = {}
    for name, found in KernelSpecManager().get_all_specs().items():
        specs[name] = str(found.get("spec", {}).get("language", "")).lower()
    kernelspec, info = as_dict(metadata.get("kernelspec")), as_dict(metadata.get("language_info"))
    named = asked or str(kernelspec.get("name") or "")
    language = str(kernelspec.get("language") or info.get("name") or ("" if named else "python")).lower()
    if named in specs:
        return named, specs[named] or language
    if not asked:
        same = sorted((name != "python3", name) for name, spoken in specs.items() if language and spoken == language)
        if same:
            return same[0][1], language
    installed = ", ".join(sorted(specs)) or "none"
    wanted = f'the kernel "{named}"' if named else f"a kernel for {language}"
    raise KernelNotFound(named, language, f"{wanted} is not installed; installed kernels: {installed}")


class KernelNotFound(End):
    def __init__(self, name, language, message):
        super().__init__("KernelNotFound", message)
        self.name, self.language = name, language


def kernel_environment(argv):
    """The environment of a kernel: its own interpreter comes first on PATH, so that `!python`, `!pip` and subprocesses
    are of the environment whose packages the notebook sees."""
    program = argv[0] if argv and os.path.isabs(argv[0]) else sys.executable  # jupyter_client puts ours for "python"
    directory = os.path.dirname(program)
    path = os.pathsep.join(part for part in (directory, os.environ.get("PATH", os.defpath)) if part)
    prefix = os.path.dirname(directory)
    virtual = {"VIRTUAL_ENV": prefix} if os.path.isfile(os.path.join(prefix, "pyvenv.cfg")) else {}
    return {**os.environ, "PATH": path, **virtual}


def oom_kills():
    """How often lack of memory has killed something in our control group; None where that cannot be known."""
    try:
        with open("/proc/self/cgroup", encoding="utf-8") as file:
            path = next(line.split(":", 2)[2].strip() for line in file if line.startswith("0::"))
        with open(f"/sys/fs/cgroup{path}/memory.events", encoding="utf-8") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("oom_kill "))
    except (OSError, StopIteration, ValueError, IndexError):
        return None


class Run:
    def __init__(self, settings, directory, records, cancelled):
        self.settings, self.records, self.cancelled = settings, records, cancelled
        self.connection_file = os.path.join(directory, "kernel.json")
        self.executed_file = os.path.join(directory, "executed.ipynb")
        self.deadline = time.monotonic() + settings.deadlineSeconds
        self.oom_before = oom_kills()
        self.client = None

    async def run(self):
        notebook, ids, version = read_notebook(self.settings.notebook)
        try:
            name, language = choose_kernel(self.settings.kernelName, notebook.metadata)
        except KernelNotFound as error:
            self.records.write(notebook_record(notebook, ids, version, error.name, error.language, self.settings.storedOutputs))
            raise
        self.records.write(notebook_record(notebook, ids, version, name, language, self.settings.storedOutputs))
        try:
            await self.start_kernel(notebook, name, language)
            for index, cell in enumerate(notebook.cells):
                if cell.cell_type == "code":
                    await self.code_cell(index, cell)
        finally:
            await self.stop_kernel()
            for cell in notebook.cells:
                if cell.cell_type == "code":
                    cell.outputs = [nbformat.from_dict(output) for output in coalesce(cell.outputs)]
            with open(self.executed_file, "w", encoding="utf-8", errors="replace") as file:
                nbformat.write(notebook, file)
        return End("Completed", "all cells have run")

    async def start_kernel(self, notebook, name, language):
        """A second try, on TCP, for what fails by chance: a port that another process took, a machine that is busy."""
        sockets = self.settings.socketDirectory if language == "python" else ""  # others may not know ipc addresses
        error = await self.try_start(notebook, name, sockets)
        if error is not None:
            print(f"the kernel did not start, trying again: {error}", file=sys.stderr)
            await self.stop_kernel()
            error = await self.try_start(notebook, name, "")
        if error is not None:
            raise End("KernelStartFailed", f'the kernel "{name}" did not start: {error or type(error).__name__}')

    async def try_start(self, notebook, name, sockets):
        """Why the kernel did not start; None when it did."""
        limit = min(self.settings.startupTimeoutSeconds, self.left())
        self.client = Client(
            notebook,
            kernel_name=name,
            timeout=None,
            startup_timeout=max(1, int(limit)),
            resources={"metadata": {"path": self.settings.workingDirectory}},
        )
        self.client.km = self.client.create_kernel_manager()
        # not among the temporary files of the machine, where a killed runner would leave it
        self.client.km.connection_file = self.connection_file
        if sockets:
            # TCP ports are chosen here and bound by the kernel later, when they may be taken
            self.client.km.transport, self.client.km.ip = "ipc", os.path.join(sockets, "k")
        started = time.monotonic()
        start = asyncio.ensure_future(self.start_client())
        late = not await self.wait(start, limit + 1)
        if late:
            start.cancel()
            self.raise_if_over(None)
        if late or (start.exception() is not None and time.monotonic() - started >= limit):
            raise End("KernelStartFailed", f'the kernel "{name}" was not ready within {limit:g} s')
        if isinstance(start.exception(), NoSuchKernel):
            raise End("KernelNotFound", f'the kernel "{name}" is not installed')
        return start.exception()

    async def start_client(self):
        await self.client.async_start_new_kernel(env=kernel_environment(self.client.km.kernel_spec.argv))
        await self.client.async_start_new_kernel_client()

    async def stop_kernel(self):
        client = self.client
        if client is None or client.km is None:
            return
        try:
            await asyncio.wait_for(client.km.shutdown_kernel(now=True), 10)
            if client.kc is not None:
                client.kc.stop_channels()
        except Exception as error:
            print(f"the kernel could not be stopped: {error}", file=sys.stderr)

    async def code_cell(self, index, cell):
        tags = set(tags_of(cell))
        if not cell.source.strip() or tags & SKIP_TAGS:
            cell.outputs, cell.execution_count = [], None
            self.records.write({"type": "cell", "index": index, "outcome": "Skipped", "durationMilliseconds": 0, "outputs": []})
            return
        self.raise_if_over(None)
        self.records.write({"type": "cell-start", "index": index})
        cell.outputs, cell.execution_count = [], None
        self.client.begin_cell()
        started = time.monotonic()
        outcome, end = await self.execute(index, cell)
        record = {
            "type": "cell",
            "index": index,
            "outcome": outcome,
            "durationMilliseconds": round((time.monotonic() - started) * 1000),
            "outputs": coalesce(cell.outputs),
        }
        if isinstance(cell.execution_count, int):
            record["executionCount"] = cell.execution_count
        if self.client.truncated:
            record["outputsTruncated"] = True
        if tags & ERROR_TAGS:
            record["expectsError"] = True
        error = None if end else error_of(self.client.reply, cell)
        if error:
            record["error"] = error
            if not tags & ERROR_TAGS and error["name"] not in self.settings.allowedErrorNames:
                record["outcome"] = "Failed"
                if self.settings.errorPolicy != "Continue":
                    end = End("Completed", f"stopped at the first failed cell, {index}", index)
        self.records.write(record)
        if end:
            raise end

    async def execute(self, index, cell):
        """(outcome, end): runs one cell within its time and the run's."""
        cell_limit = self.settings.cellTimeoutSeconds or float("inf")
        task = asyncio.ensure_future(self.client.async_execute_cell(cell, index))
        if not await self.wait(task, min(cell_limit, self.left())):
            await self.interrupt(task)
            if self.cancelled.is_set():
                return "NotRun", End("Cancelled", "the run was cancelled", index)
            if self.left() <= 0:
                return "TimedOut", self.deadline_exceeded(index)
            return "TimedOut", End("CellTimeout", f"cell {index} did not end within {cell_limit:g} s", index)
        error = task.exception()
        if error is None:
            self.client.truncated = self.client.truncated or not self.client.idle
            return "Succeeded", None
        if isinstance(error, DeadKernelError):
            return "KernelDied", await self.kernel_died(index)
        return "Failed", End("RunnerError", f"{type(error).__name__}: {error}", index)

    async def interrupt(self, task):
        """Interrupts the cell, and after the grace kills the kernel: never waits for a cell that does not stop."""
        grace = 1 if self.cancelled.is_set() or self.left() <= 0 else INTERRUPT_GRACE_SECONDS
        try:
            await self.client.km.interrupt_kernel()
            await asyncio.wait({task}, timeout=grace)
            if not task.done():
                await self.client.km.shutdown_kernel(now=True)
                await asyncio.wait({task}, timeout=3)
        except Exception as error:
            print(f"the cell could not be interrupted: {error}", file=sys.stderr)
        if not task.done():
            task.cancel()
        await asyncio.wait({task}, timeout=3)
        if task.done() and not task.cancelled():
            task.exception()

    async def kernel_died(self, index):
        code = None
        try:
            code = await self.client.km.provisioner.poll()
        except Exception:
            pass
        kills = oom_kills()
        if kills is not None and kills > (self.oom_before or 0):
            return End("OutOfMemory", f"the kernel was killed in cell {index} because the memory limit was reached", index)
        if isinstance(code, int) and code < 0:
            how = f" (killed by signal {-code}{', as a lack of memory does' if code == -9 and kills is None else ''})"
        else:
            how = "" if code is None else f" (exit status {code})"
        return End("KernelDied", f"the kernel died in cell {index}{how}", index)

    async def wait(self, task, seconds):
        """True when the task ended in time; False at the timeout or when the run is cancelled."""
        stop = asyncio.ensure_future(self.cancelled.wait())
        await asyncio.wait({task, stop}, timeout=None if seconds == float("inf") else max(0, seconds), return_when=asyncio.FIRST_COMPLETED)
        stop.cancel()
        return task.done()

    def left(self):
        return self.deadline - time.monotonic()

    def raise_if_over(self, index):
        if self.cancelled.is_set():
            raise End("Cancelled", "the run was cancelled", index)
        if self.left() <= 0:
            raise self.deadline_exceeded(index)

    def deadline_exceeded(self, index):
        return End("DeadlineExceeded", "the deadline of the job came before all cells had run", index)


def error_of(reply, cell):
    """The error of an execute reply: its status decides, not what was printed (bad magics print no error output)."""
    if reply is None or reply.get("status") == "ok":
        return None
    shown = next((output for output in cell.outputs if output["output_type"] == "error"), {})
    name = str(reply.get("ename") or shown.get("ename") or reply.get("status") or "Error")
    value = str(reply.get("evalue") or shown.get("evalue") or "")
    if name == "StdinNotImplementedError":
        value = f"{value} ({INPUT_HINT})" if value else INPUT_HINT
    lines = reply.get("traceback") or shown.get("traceback") or []
    return {"name": name, "value": value, "traceback": "\n".join(map(str, lines))[-MAX_TRACEBACK_CHARACTERS:]}


async def main(directory):
    with open(os.path.join(directory, "runner.json"), encoding="utf-8") as file:
        settings = Settings(**json.load(file))
    records = Records(os.path.join(directory, "records.ndjson"))
    cancelled = asyncio.Event()
    loop = asyncio.get_running_loop()
    for signum in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(signum, cancelled.set)
    try:
        end = await Run(settings, directory, records, cancelled).run()
    except End as error:
        end = error
    except Exception as error:
        end = End("RunnerError", f"{type(error).__name__}: {error}")
    records.write(end.record)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
