"""Runs the runner as the main process of a container, and tells the container beside it how that goes.

    python3 -I -B pod.py DIRECTORY

reads DIRECTORY/pod.json ({"deadlineAt": seconds since the epoch}) and completes DIRECTORY/runner.json by what is left
until then; writes DIRECTORY/heartbeat every second while the runner lives and DIRECTORY/execute.json ({"code", "signal",
"stderr", "timedOut"}) when it has ended. It needs nothing but Python, so that an image without nbclient says so.
"""
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time

REPORT_MARGIN_SECONDS = 15
# The runner ends by itself; this is for one that hangs.
LATE_SECONDS = 10
KEEP_CHARACTERS = 4000
SOCKETS = os.path.join(tempfile.gettempdir(), "mlops-kernel")


def replace(path, text):
    with open(path + ".tmp", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(path + ".tmp", path)


def beat(directory, ended):
    count = 0
    while not ended.wait(1):
        count += 1
        try:
            replace(os.path.join(directory, "heartbeat"), str(count))
        except OSError:
            pass  # a full disk is told by who needs it


def complete_settings(directory):
    """The directory to start in and the seconds until the runner must have ended."""
    with open(os.path.join(directory, "pod.json"), encoding="utf-8") as file:
        left = max(0, json.load(file)["deadlineAt"] - time.time())
    left -= min(REPORT_MARGIN_SECONDS, left / 4)
    path = os.path.join(directory, "runner.json")
    with open(path, encoding="utf-8") as file:
        settings = json.load(file)
    os.makedirs(SOCKETS, mode=0o700, exist_ok=True)
    replace(path, json.dumps({**settings, "deadlineSeconds": left, "socketDirectory": SOCKETS}))
    return os.path.dirname(settings["notebook"]), left


def pass_on_errors(stream, kept):
    for line in stream:
        sys.stderr.write(line)
        sys.stderr.flush()
        kept[0] = (kept[0] + line)[-KEEP_CHARACTERS:]


def run(directory):
    folder, left = complete_settings(directory)
    here = os.path.dirname(os.path.abspath(__file__))
    python = [sys.executable, "-I", "-B"]
    command = [*python, os.path.join(here, "supervise.py"), *python, os.path.join(here, "runner.py"), directory]
    child = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace")
    for signum in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signum, lambda received, _frame: child.send_signal(received))
    kept, timed_out = [""], False
    reader = threading.Thread(target=pass_on_errors, args=(child.stderr, kept), daemon=True)
    reader.start()
    try:
        code = child.wait(left + LATE_SECONDS)
    except subprocess.TimeoutExpired:
        timed_out = True
        child.kill()
        code = child.wait()
    reader.join(2)
    return {"code": code if code >= 0 else None, "signal": signal.Signals(-code).name if code < 0 else None, "stderr": kept[0], "timedOut": timed_out}


def main(directory):
    ended = threading.Event()
    beating = threading.Thread(target=beat, args=(directory, ended), daemon=True)
    replace(os.path.join(directory, "heartbeat"), "0")
    beating.start()
    result = run(directory)
    ended.set()
    replace(os.path.join(directory, "execute.json"), json.dumps(result))
    # as a shell tells a signal
    return result["code"] if result["code"] is not None else 128 + signal.Signals[result["signal"]].value


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
