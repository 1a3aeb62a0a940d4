"""Runs a program and ends with it everything that it has started.

    python -I supervise.py PROGRAM ARGUMENT...

On Linux what loses its parent comes to this process (PR_SET_CHILD_SUBREAPER), whatever session, group or environment it
has given itself, so that nothing that the program leaves behind can hide; also when the program itself is killed.
Elsewhere the program's process group is all that is known. Ends as the program has ended: its exit status or signal.
"""
import ctypes
import os
import resource
import signal
import sys
import time

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
# A program that was told to end has so long for its last words; below the time after which our own parent kills us.
GRACE_SECONDS = 3
END_SECONDS = 10


def prctl(option, value):
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def send(pid, signum):
    try:
        os.kill(pid, signum)
    except OSError:
        pass  # gone, or of another user


def descendants():
    """The processes below this one; what is killed hands its children on to us, so that all are found in the end."""
    parents = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    # the name in parentheses may hold anything
                    state, parent = file.read().rpartition(b")")[2].split()[:2]
            except OSError:
                continue
            if state != b"Z":
                parents[int(name)] = int(parent)
    found, reached = set(), {os.getpid()}
    while reached:
        reached = {pid for pid, parent in parents.items() if parent in reached and pid not in found}
        found |= reached
    return found


def end_descendants():
    end = time.monotonic() + END_SECONDS
    while time.monotonic() < end:
        left = descendants() if sys.platform == "linux" else set()
        for pid in left:
            send(pid, signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(0.01)


def run(command):
    """The wait status of the command. Children that others have left to us are reaped on the way."""
    child = os.fork()
    if child == 0:
        prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        signal.pthread_sigmask(signal.SIG_SETMASK, set())
        try:
            os.execvp(command[0], command)
        finally:
            os._exit(127)

    def pass_on(signum, _frame):
        send(child, signum)
        signal.alarm(GRACE_SECONDS)

    for signum in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signum, pass_on)
    signal.signal(signal.SIGALRM, lambda *_: send(child, signal.SIGKILL))
    signal.pthread_sigmask(signal.SIG_SETMASK, set())
    while True:
        pid, status = os.waitpid(-1, 0)
        if pid == child:
            signal.alarm(0)
            for signum in (signal.SIGTERM, signal.SIGINT, signal.SIGALRM):
                signal.signal(signum, signal.SIG_IGN)
            return status


def main(command):
    # a signal that comes before there is somebody to pass it on to waits
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    status = run(command)
    end_descendants()
    if os.WIFSIGNALED(status):
        signum = os.WTERMSIG(status)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if signum != signal.SIGKILL:
            signal.signal(signum, signal.SIG_DFL)
        os.kill(os.getpid(), signum)
    os._exit(os.WEXITSTATUS(status))


if __name__ == "__main__":
    main(sys.argv[1:])
