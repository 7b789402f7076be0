from pathlib import Path

from tests.collect.agent.models import FAKE_NET, FAKE_TRAINING
from tests.collect.agent.spooled import FAKE, recorded, run, spools

FORWARD, BACKWARD, OPTIMIZER = 1, 2, 3


def test_operators_have_their_phase_and_the_number_that_joins_forward_and_backward(folder: Path) -> None:
    rows = recorded(FAKE_TRAINING, folder, FAKE, TRACELODE_RECORD_HOOKS="op").rows["op"]
    first = [
        ("aten::addmm", FORWARD, 0),
        ("aten::addmm", FORWARD, 1),
        ("aten::mm", BACKWARD, 1),
        ("aten::mm", BACKWARD, 1),
        ("aten::add_", OPTIMIZER, -1),
        ("aten::clone", OPTIMIZER, -1),
        ("aten::add_", OPTIMIZER, -1),
        ("aten::clone", OPTIMIZER, -1),
    ]
    second = [
        ("aten::addmm", FORWARD, 2),
        ("aten::addmm", FORWARD, 3),
        ("aten::mm", BACKWARD, 3),
        ("aten::mm", BACKWARD, 3),
        ("aten::add_", OPTIMIZER, -1),
        ("aten::add_", OPTIMIZER, -1),
    ]
    assert [(row["name"], row["phase"], row["sequence"]) for row in rows] == first + second
    assert all(row["start"] <= row["end"] for row in rows)
    assert {(row["shapes"], row["types"], row["stack"]) for row in rows} == {(None, None, None)}


def test_a_node_without_a_forward_operator_has_no_number(folder: Path) -> None:
    program = "net = Net()\nbackward(net, (1 << 64) - 1)"
    rows = recorded(FAKE_NET + program, folder, FAKE, TRACELODE_RECORD_HOOKS="op").rows["op"]
    assert [(row["name"], row["sequence"]) for row in rows] == [("aten::mm", -1)] * 2


def test_shapes_and_types_are_told_as_kineto_tells_them(folder: Path) -> None:
    program = """
class Strange(torch.Tensor):
    @property
    def shape(self): raise RuntimeError("asked")
    @shape.setter
    def shape(self, value): pass
pair = [torch.Tensor(2, 3), torch.Tensor(4)]
call("aten::cat", lambda *_: None, pair, 1, None, "same", torch.Tensor(), Strange())
"""
    (row,) = recorded(FAKE_NET + program, folder, FAKE, TRACELODE_RECORD_HOOKS="shape").rows["op"]
    assert row["shapes"] == "[[[2, 3], [4]], [], [], [], [], []]"
    assert row["types"] == '["TensorList", "Scalar", "", "", "float", ""]'


def test_stacks_name_the_programs_own_frames(folder: Path) -> None:
    program = """
def helper():
    call("aten::one", lambda: None)
def main():
    helper()
main()
"""
    (row,) = recorded(FAKE_NET + program, folder, FAKE, TRACELODE_RECORD_HOOKS="op,stack").rows["op"]
    frames = [frame.rpartition("/")[2] for frame in row["stack"].split(";")]
    line = FAKE_NET.count("\n") + 1
    assert frames == [
        f"program.py:{line + 5} <module>",
        f"program.py:{line + 4} main",
        f"program.py:{line + 2} helper",
    ]


def test_an_operator_that_fails_or_a_tensor_that_refuses_harms_nothing(folder: Path) -> None:
    program = """
def fail(): raise ValueError("theirs")
try: call("aten::bad", fail)
except ValueError as error: assert str(error) == "theirs"
class Refusing:
    @property
    def layout(self): raise RuntimeError("asked")
one = torch.Tensor(1)
one.untyped_storage = fail
assert call("aten::good", lambda: one) is one
"""
    found = recorded(FAKE_NET + program, folder, FAKE, TRACELODE_RECORD_HOOKS="op,tensor")
    assert [row["name"] for row in found.rows["op"]] == ["aten::good"]
    assert found.said("state")["errors"] == 1
    assert found.said("state")["error"] == "ValueError: theirs"


def test_another_thread_is_observed_while_it_is_in_a_module(folder: Path) -> None:
    program = """
import threading
def work():
    call("aten::before", lambda: None)
    Net()(torch.Tensor(1))
    assert torch._C._len_torch_dispatch_stack() == 0
thread = threading.Thread(target=work); thread.start(); thread.join()
"""
    found = recorded(FAKE_NET + program, folder, FAKE, TRACELODE_RECORD_HOOKS="op")
    assert [(row["name"], row["sequence"]) for row in found.rows["op"]] == [("aten::addmm", 0), ("aten::addmm", 1)]
    assert {row["thread"] for row in found.rows["op"]} != {found.said("process")["pid"]}


def test_a_thread_in_a_mode_of_the_program_is_left_alone_and_counted(folder: Path) -> None:
    program = """
import threading
class Mode(torch.utils._python_dispatch.TorchDispatchMode):
    def __torch_dispatch__(self, operator, types, args=(), kwargs=None): return operator(*args)
def work():
    with Mode(): Net()(torch.Tensor(1))
    assert torch._C._len_torch_dispatch_stack() == 0
thread = threading.Thread(target=work); thread.start(); thread.join()
call("aten::main", lambda: None)
"""
    found = recorded(FAKE_NET + program, folder, FAKE, TRACELODE_RECORD_HOOKS="op")
    assert [row["name"] for row in found.rows["op"]] == ["aten::main"]
    assert found.said("state")["skipped_threads"] == 1


def test_stop_within_a_mode_of_the_program_takes_nothing_off_its_stack(folder: Path) -> None:
    program = """
from tracelode.collect import agent
class Mode(torch.utils._python_dispatch.TorchDispatchMode):
    def __torch_dispatch__(self, operator, types, args=(), kwargs=None): return operator(*args)
with Mode() as mode:
    agent.stop()
    assert torch._C.local.stack[-1] is mode
    call("aten::stopped", lambda: None)
agent.start()
call("aten::again", lambda: None)
agent.stop()
assert torch._C.local.stack == []
call("aten::stopped", lambda: None)
"""
    rows = recorded(FAKE_NET + program, folder, FAKE, TRACELODE_RECORD_HOOKS="op").rows["op"]
    assert [row["name"] for row in rows] == ["aten::again"]


def test_a_forked_child_goes_on_observing(folder: Path) -> None:
    program = """
import os, sys
child = os.fork()
call("aten::child" if child == 0 else "aten::parent", lambda: None)
if child == 0: sys.exit()
os.waitpid(child, 0)
"""
    done = run(FAKE_NET + program, folder, FAKE, TRACELODE_RECORD_HOOKS="op")
    assert (done.returncode, done.stderr) == (0, "")
    assert [[row["name"] for row in one.rows["op"]] for one in spools(folder)] == [["aten::parent"], ["aten::child"]]


def test_a_torch_imported_while_nothing_is_recorded_is_observed_from_the_next_start(folder: Path) -> None:
    program = """
from tracelode.collect import agent
agent.stop()
import torch
assert torch._C._len_torch_dispatch_stack() == 0
agent.start()
assert torch._C._len_torch_dispatch_stack() == 1
torch.call("aten::started", lambda: None)
"""
    rows = recorded(program, folder, FAKE, TRACELODE_RECORD_HOOKS="op").rows["op"]
    assert [row["name"] for row in rows] == ["aten::started"]
