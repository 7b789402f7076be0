import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

WRAPPER = (
    "import os, sys; from tracelode.collect.supervise import run, still_running\n"
    "status = run(sys.argv[1:], os.environ); print('left', len(still_running(0.2)), flush=True); sys.exit(status)"
)
READY_THEN_COUNT = (
    "import signal, sys, time\n"
    "count = []\n"
    "for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGQUIT):\n"
    "    signal.signal(number, lambda n, _: count.append(n))\n"
    "print('ready', flush=True)\n"
    "until = time.monotonic() + 20\n"
    "while not count and time.monotonic() < until: time.sleep(0.02)\n"
    "time.sleep(0.3)\n"
    "sys.exit(10 + len(count))"
)


def wrapped(*command: str, **more: object) -> "subprocess.Popen[str]":
    """The wrapper around a program, as a process of its own."""
    return subprocess.Popen([sys.executable, "-c", WRAPPER, *command], text=True, stdout=subprocess.PIPE, **more)  # pyright: ignore[reportArgumentType, reportCallIssue] - any of its options


def said(program: str) -> list[str]:
    """What a Python program prints, in a process of its own: a subreaper takes the children of all that is in it."""
    ask = (
        f"import os, signal, sys\nfrom tracelode.collect import supervise\nfrom tracelode.store import Error\n{program}"
    )
    return subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True).stdout.splitlines()


def test_the_exit_status_is_the_programs_own() -> None:
    run = "print(supervise.run([sys.executable, '-c', 'raise SystemExit(3)'], os.environ))"
    assert said(f"{run}\nprint(supervise.run(['sh', '-c', 'kill -9 $$'], os.environ))") == ["3", "137"]


def test_a_program_that_cannot_be_started_is_named(tmp_path: Path) -> None:
    text = tmp_path / "train.py"
    text.write_text("print(1)")
    program = (
        f"for name in ('no-such-program', {str(text)!r}):\n"
        "    try:\n        supervise.run([name], os.environ)\n"
        "    except Error as error:\n        print(error.message, '|', error.hint)"
    )
    missing, unfit = said(program)
    assert missing == "no-such-program: No such file or directory | is it installed, and on the PATH?"
    assert unfit.startswith(f"{text}: ") and unfit.endswith(" | may it be run?")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGQUIT])
def test_a_signal_to_the_wrapper_reaches_the_program_once(number: signal.Signals) -> None:
    with wrapped(sys.executable, "-c", READY_THEN_COUNT) as process:
        assert process.stdout and process.stdout.readline() == "ready\n"
        process.send_signal(number)
        assert process.wait(30) == 11


def test_a_signal_that_comes_while_the_program_starts_is_not_lost() -> None:
    for _ in range(3):
        with wrapped("sleep", "20") as process:
            began = time.monotonic()
            while not Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text():
                assert time.monotonic() - began < 20
            process.send_signal(signal.SIGTERM)
            assert process.wait(10) == 128 + signal.SIGTERM


def test_files_that_are_open_for_the_program_stay_open(tmp_path: Path) -> None:
    read, write = os.pipe()
    with wrapped(sys.executable, "-c", f"import os; os.write({write}, b'through')", pass_fds=(write,)) as process:
        os.close(write)
        assert process.wait(20) == 0
    assert os.read(read, 100) == b"through"
    os.close(read)


def test_processes_that_outlive_the_program_are_waited_for_and_told() -> None:
    with wrapped("sh", "-c", "sleep 30 & true") as process:
        assert process.stdout and process.stdout.readline() == "left 1\n"
    with wrapped("sh", "-c", "(sleep 0.05) & true") as process:
        assert process.stdout and process.stdout.readline() == "left 0\n"


def test_signals_are_as_before_when_the_program_has_ended() -> None:
    mask = "print(sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])))"
    before, after = said(f"{mask}\nsupervise.run(['true'], os.environ)\n{mask}")
    assert before == after
