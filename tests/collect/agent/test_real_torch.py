"""The hooks with PyTorch itself: with this Python's, or with that of the Python that TRACELODE_TORCH_PYTHON names."""

import importlib.util
import os
import sys
from pathlib import Path

import pytest

from tests.collect.agent.models import REAL_TRAINING
from tests.collect.agent.spooled import Spooled, run, spools

PYTHON = os.environ.get("TRACELODE_TORCH_PYTHON", sys.executable)
HOOKS = "op,shape,module,phase,tensor"

pytestmark = pytest.mark.skipif(
    sys.executable == PYTHON and importlib.util.find_spec("torch") is None,
    reason="PyTorch is not installed; name a Python that has it in TRACELODE_TORCH_PYTHON",
)


def trained(program: str, folder: Path, hooks: str = HOOKS) -> Spooled:
    done = run(program, folder, python=PYTHON, TRACELODE_RECORD_HOOKS=hooks)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    (found,) = spools(folder)
    assert found.said("state")["errors"] == 0
    return found


def test_a_training_has_its_modules_phases_and_steps(folder: Path) -> None:
    rows = trained(REAL_TRAINING, folder, "module,phase").rows["range"]
    one = ["Net.first", "Net.second", "Net", "forward", "backward", "optimizer", "step"]
    assert [row["name"] for row in rows] == one * 2
    assert [row["depth"] for row in rows] == [2, 2, 1, 0, 0, 0, 0] * 2


def test_operators_have_phases_shapes_and_numbers(folder: Path) -> None:
    rows = trained(REAL_TRAINING, folder).rows["op"]
    forward = [row for row in rows if row["phase"] == 1 and row["name"] == "aten::mm"]
    assert [row["shapes"] for row in forward] == ["[[2, 4], [4, 4]]"] * 4
    assert [row["types"] for row in forward] == ['["float", "float"]'] * 4
    numbers = [row["sequence"] for row in forward]
    assert len(set(numbers)) == 4
    backward = [row["sequence"] for row in rows if row["phase"] == 2 and row["name"] == "aten::mm"]
    # for the weights, and for the input of the second layer; the first layer's needs none
    assert backward == [numbers[1], numbers[1], numbers[0], numbers[3], numbers[3], numbers[2]]
    assert any(row["phase"] == 3 for row in rows)


def test_memory_is_whose_it_is_and_goes_when_it_goes(folder: Path) -> None:
    program = REAL_TRAINING + "from sys import modules\nmodules['tracelode_agent'].stop()\n"
    rows = trained(program, folder).rows["tensor"]
    owners: dict[int, str] = {}
    for row in rows:
        if row["event"] == 1:
            owners.pop(row["address"])
        else:
            owners[row["address"]] = row["owner"]
    of = [
        f"{what}Net.{name}.weight"
        for what in ("", "gradient of ", "momentum_buffer of ")
        for name in ("first", "second")
    ]
    assert sorted(owner for owner in owners.values() if owner and "weight" in owner) == sorted(of)
    assert {row["bytes"] for row in rows if row["owner"] in of} == {64}


def test_other_threads_are_observed_in_modules_and_only_there(folder: Path) -> None:
    program = """
import threading
def work():
    torch.ones(3)
    net(torch.ones(2, 4))
    torch.ones(3)
before = torch.ones(1)
thread = threading.Thread(target=work); thread.start(); thread.join()
"""
    found = trained(REAL_TRAINING + program, folder, "op")
    main = found.said("process")["pid"]
    assert [row["name"] for row in found.rows["op"] if row["thread"] != main] == ["aten::t", "aten::mm"] * 2


def test_what_is_compiled_is_compiled_as_ever(folder: Path) -> None:
    program = """
compiled = torch.compile(net, backend="aot_eager", fullgraph=True)
compiled(torch.ones(2, 4)).sum().backward()
@torch.compile(backend="eager")
def step(x):
    loss = net(x).sum(); loss.backward(); optimizer.step(); optimizer.zero_grad()
    return loss
step(torch.ones(2, 4)); step(torch.ones(2, 4))
from torch._dynamo.utils import counters
print(dict(counters["stats"]), dict(counters["graph_break"]))
"""
    told = run(REAL_TRAINING + program, folder, python=PYTHON, TRACELODE_RECORD_HOOKS=HOOKS)
    plain = run(REAL_TRAINING + program, folder, python=PYTHON, TRACELODE_RECORD_DIR="")
    assert told.returncode == plain.returncode == 0
    assert told.stdout == plain.stdout
    assert len(told.stderr.splitlines()) == len(plain.stderr.splitlines())


def test_errors_modes_and_loaders_are_as_ever(folder: Path) -> None:
    program = """
import torch.utils._python_dispatch
class Data(torch.utils.data.Dataset):
    def __len__(self): return 4
    def __getitem__(self, place): return torch.full((2,), float(place))
class Seen(torch.utils._python_dispatch.TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        print(func)
        return func(*args, **(kwargs or {}))
with Seen(): net(torch.ones(2, 4))
print(sum(one.sum().item() for one in torch.utils.data.DataLoader(Data(), 2, num_workers=2)))
print(torch.cond(torch.tensor(True), lambda x: x.sin(), lambda x: x.cos(), (torch.zeros(1),)))
print(torch.export.export(net, (torch.ones(2, 4),)).graph_module.code)
print(torch.jit.trace(net, torch.ones(2, 4))(torch.ones(2, 4)).shape)
print(torch.nested.nested_tensor([torch.ones(2)]).is_nested, torch.eye(2).to_sparse().layout)
for bad in (lambda: net(torch.ones(3)), lambda: torch.ones(3).backward()):
    try: bad()
    except RuntimeError as error: print(error)
raise SystemExit(6)
"""
    told = run(REAL_TRAINING + program, folder, python=PYTHON, TRACELODE_RECORD_HOOKS=HOOKS)
    plain = run(REAL_TRAINING + program, folder, python=PYTHON, TRACELODE_RECORD_DIR="")
    assert told.returncode == plain.returncode == 6
    assert (told.stdout, told.stderr) == (plain.stdout, plain.stderr)
    found = spools(folder)
    assert [one.said("state")["errors"] for one in found] == [0] * 3  # two workers of the loader
    assert [one.said("state")["final"] for one in found] == [True] * 3
