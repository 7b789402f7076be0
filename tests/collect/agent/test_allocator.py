from pathlib import Path

from tests.collect.agent.models import FAKE_NET
from tests.collect.agent.spooled import FAKE, recorded

ALLOCATED, FREED, NAMED = 0, 1, 2
USING = """
from torch.cuda.memory import happens
class Device: type, index = "cuda", 0
class Allocating(torch.nn.Module):
    def __init__(self, name, address): self.name, self.address = name, address
    def forward(self):
        time.sleep(0.001)
        happens("alloc", self.address, 512)
        time.sleep(0.001)
class Both(torch.nn.Module):
    def __init__(self): self.one, self.two = Allocating("one", 0x1000), Allocating("two", 0x2000)
    def forward(self): self.one(); self.two()
import time
"""


def test_the_allocators_history_becomes_rows_with_the_module_that_ran(folder: Path) -> None:
    program = """
assert torch.cuda.memory.asked == []  # not before the program uses CUDA
torch.cuda.init()
Both()()
happens("segment_alloc", 0x0, 2 << 20)
time.sleep(0.001)
happens("alloc", 0x3000, 1024)
happens("free_requested", 0x1000, 512)
happens("free_completed", 0x1000, 512)
"""
    found = recorded(FAKE_NET + USING + program, folder, FAKE, TRACELODE_RECORD_HOOKS="tensor,module")
    rows = found.rows["tensor"]
    assert [(row["event"], row["address"], row["bytes"], row["owner"]) for row in rows] == [
        (ALLOCATED, 0x1000, 512, "Both.one"),
        (ALLOCATED, 0x2000, 512, "Both.two"),
        (ALLOCATED, 0x3000, 1024, None),
        (FREED, 0x1000, 512, None),
    ]
    assert {(row["device"], row["thread"]) for row in rows} == {(0, 0xFFFFFFFF)}
    both = next(row for row in found.rows["range"] if row["name"] == "Both")
    assert both["start"] < rows[0]["time"] < rows[1]["time"] < both["end"]
    told = found.said("allocator")
    assert (told["device"], told["allocated"], told["reserved"]) == (0, 1536, 2 << 20)


def test_tensors_on_the_device_are_named_and_not_counted_twice(folder: Path) -> None:
    program = """
torch.cuda.init()
net = Net()
for one in (net.first.weight, net.second.weight): one.device = Device()
def on_device(size):
    made = torch.Tensor(size)
    made.device = Device()
    return made
kept = call("aten::empty", on_device, 4)
net(torch.Tensor(1))
"""
    rows = recorded(FAKE_NET + USING + program, folder, FAKE, TRACELODE_RECORD_HOOKS="tensor").rows["tensor"]
    named = [(row["event"], row["owner"], row["device"]) for row in rows if row["device"] == 0]
    assert named == [(NAMED, "Net.first.weight", 0), (NAMED, "Net.second.weight", 0)]


def test_the_history_is_bounded_emptied_and_restarted_and_an_overrun_counted(folder: Path) -> None:
    program = """
import sys
allocator = sys.modules["tracelode_agent.allocator"]
allocator.MOST_ENTRIES = 3
torch.cuda.init()
for address in range(3): happens("alloc", address, 512)
from tracelode.collect import agent
sys.modules["tracelode_agent.session"].SESSION.held.flush(final=True)
assert torch.cuda.memory.trace == []
happens("alloc", 9, 512)
"""
    found = recorded(FAKE_NET + USING + program, folder, FAKE, TRACELODE_RECORD_HOOKS="tensor")
    assert [row["address"] for row in found.rows["tensor"]] == [0, 1, 2, 9]
    assert found.said("state")["allocator_overruns"] == 1


def test_stacks_are_asked_for_only_where_they_are_wanted(folder: Path) -> None:
    program = """
torch.cuda.init()
frames = [{"filename": "model.py", "line": 7, "name": "inner"}, {"filename": "main.py", "line": 3, "name": "outer"}]
happens("alloc", 1, 512, frames if torch.cuda.memory.asked[0]["context"] else ())
assert torch.cuda.memory.asked[0]["max_entries"] == 50_000
"""
    for hooks, stack in (("tensor", None), ("tensor,stack", "main.py:3 outer;model.py:7 inner")):
        found = recorded(
            FAKE_NET + USING + program, folder.with_name(str(len(hooks))), FAKE, TRACELODE_RECORD_HOOKS=hooks
        )
        assert [row["stack"] for row in found.rows["tensor"]] == [stack]


def test_an_allocator_without_a_history_costs_only_its_own_rows(folder: Path) -> None:
    program = """
del torch.cuda.memory._record_memory_history
torch.cuda.init()
Net()(torch.Tensor(1))
"""
    found = recorded(FAKE_NET + USING + program, folder, FAKE, TRACELODE_RECORD_HOOKS="tensor,module")
    assert len(found.ranges(1)) == 3
    assert found.said("state")["errors"] == 1
