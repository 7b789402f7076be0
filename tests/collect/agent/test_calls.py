from pathlib import Path

from tests.collect.agent.models import FAKE_NET, FAKE_TRAINING
from tests.collect.agent.spooled import FAKE, recorded, run

AGENT = "from tracelode.collect import agent\n"


def test_modules_phases_and_steps_of_a_training_nest(folder: Path) -> None:
    rows = recorded(FAKE_TRAINING, folder, FAKE, TRACELODE_RECORD_HOOKS="module,phase").rows["range"]
    one = [
        ("Net.first", 2, 1),
        ("Net.second", 2, 1),
        ("Net", 1, 1),
        ("forward", 0, 2),
        ("backward", 0, 2),
        ("optimizer", 0, 2),
        ("step", 0, 3),
    ]
    assert [(row["name"], row["depth"], row["kind"]) for row in rows] == one * 2
    assert rows[6]["end"] == rows[13]["start"]


def test_each_hook_is_chosen_by_itself(folder: Path) -> None:
    found = recorded(FAKE_TRAINING, folder, FAKE, TRACELODE_RECORD_HOOKS=" module , unknown")
    assert (found.ranges(1), found.ranges(2), found.ranges(3)) == (
        ["Net.first", "Net.second", "Net"] * 2,
        [],
        ["step"] * 2,
    )
    assert (found.rows["op"], found.rows["tensor"]) == ([], [])
    assert found.said("process")["hooks"] == ["module", "unknown"]


def test_phases_alone_leave_modules_out(folder: Path) -> None:
    found = recorded(FAKE_TRAINING, folder, FAKE, TRACELODE_RECORD_HOOKS="phase")
    assert (found.ranges(1), found.ranges(2)) == ([], ["forward", "backward", "optimizer"] * 2)


def test_modules_that_fail_are_closed(folder: Path) -> None:
    program = """
class Failing(torch.nn.Module):
    def forward(self): raise error
class Outer(torch.nn.Module):
    def __init__(self): self.inner = Failing()
    def forward(self): self.inner()
outer = Outer()
for error in (ValueError("theirs"), KeyboardInterrupt()):
    try: outer()
    except BaseException as caught: assert caught is error
error = ValueError("again")
try: outer()
except ValueError: pass
Net()(torch.Tensor(1))
"""
    rows = recorded(FAKE_NET + program, folder, FAKE, TRACELODE_RECORD_HOOKS="module,phase").rows["range"]
    failed = [("Outer.inner", 2), ("Outer", 1), ("forward", 0)]  # KeyboardInterrupt leaves no row
    after = [("Net.first", 2), ("Net.second", 2), ("Net", 1), ("forward", 0)]
    assert [(row["name"], row["depth"]) for row in rows] == failed * 2 + after


def test_a_module_that_calls_itself_is_not_taken_for_one_that_was_left(folder: Path) -> None:
    program = """
class Tree(torch.nn.Module):
    def forward(self, depth): return self(depth - 1) if depth else 0
Tree()(2)
"""
    rows = recorded(FAKE_NET + program, folder, FAKE, TRACELODE_RECORD_HOOKS="module,phase").rows["range"]
    assert [(row["name"], row["depth"]) for row in rows] == [("Tree", 3), ("Tree", 2), ("Tree", 1), ("forward", 0)]


def test_a_forward_pass_within_a_backward_pass_is_part_of_it(folder: Path) -> None:
    program = "net = Net()\ntorch.autograd.backward(lambda: net(torch.Tensor(1)))"
    rows = recorded(FAKE_NET + program, folder, FAKE, TRACELODE_RECORD_HOOKS="module,phase").rows["range"]
    names = [(row["name"], row["depth"]) for row in rows]
    assert names == [("Net.first", 2), ("Net.second", 2), ("Net", 1), ("backward", 0)]


def test_an_error_in_a_backward_pass_or_an_optimizer_goes_on(folder: Path) -> None:
    program = """
def fail(*_): raise ValueError("theirs")
for work in (lambda: torch.autograd.backward(fail), broken.step if (broken := torch.optim.Optimizer([])) else None):
    broken.update = fail
    try: work()
    except ValueError as error: assert str(error) == "theirs"
    else: raise SystemExit("swallowed")
torch.optim.Optimizer([]).step()
"""
    rows = recorded(FAKE_NET + program, folder, FAKE, TRACELODE_RECORD_HOOKS="phase").rows["range"]
    assert [(row["name"], row["kind"]) for row in rows] == [("backward", 2), ("optimizer", 2), ("step", 3)]


def test_the_first_optimizer_makes_the_steps_until_it_is_gone(folder: Path) -> None:
    program = """
import gc
first, second = (torch.optim.Optimizer([]) for _ in range(2))
for _ in range(2): first.step(); second.step()
del first; gc.collect()
second.step()
"""
    found = recorded(FAKE_NET + program, folder, FAKE, TRACELODE_RECORD_HOOKS="phase")
    assert (len(found.ranges(2)), len(found.ranges(3))) == (5, 3)


def test_steps_that_the_program_makes_go_before_those_of_optimizers(folder: Path) -> None:
    program = "optimizer = torch.optim.Optimizer([])\nfor _ in range(3): agent.step(); optimizer.step()"
    found = recorded(AGENT + FAKE_NET + program, folder, FAKE, TRACELODE_RECORD_HOOKS="phase")
    assert (len(found.ranges(2)), len(found.ranges(3))) == (3, 3)


def test_modules_of_several_threads_do_not_mix(folder: Path) -> None:
    program = """
import threading
both = threading.Barrier(2)
class Meeting(torch.nn.Module):
    def forward(self): both.wait(); both.wait()
net = Meeting()
threads = [threading.Thread(target=net) for _ in range(2)]
for one in threads: one.start()
for one in threads: one.join()
"""
    rows = recorded(FAKE_NET + program, folder, FAKE, TRACELODE_RECORD_HOOKS="module,phase").rows["range"]
    assert sorted((row["name"], row["depth"]) for row in rows) == [("Meeting", 1)] * 2 + [("forward", 0)] * 2
    assert len({row["thread"] for row in rows}) == 2


def test_hooks_stand_aside_while_a_graph_is_compiled(folder: Path) -> None:
    program = "torch.compiler.compiling = True\n" + FAKE_TRAINING
    done = run(FAKE_NET + program, folder, FAKE, TRACELODE_RECORD_HOOKS="module,phase")
    assert (done.returncode, done.stderr) == (0, "")
    assert not folder.exists()


def test_torch_compile_is_told_to_leave_every_hook_alone(folder: Path) -> None:
    hooks = {"call", "_before", "_after", "passed", "_observe", "__torch_dispatch__", "_freed"}
    program = f"assert {hooks} <= {{code.co_name for code in torch._C.skipped}}"
    done = run("import torch\n" + program, folder, FAKE, TRACELODE_RECORD_HOOKS="op,module,phase")
    assert (done.returncode, done.stderr) == (0, "")


def test_after_stop_modules_leave_nothing_and_keep_their_depth(folder: Path) -> None:
    program = """
class Stopping(torch.nn.Module):
    def forward(self): agent.stop()
Stopping()()
Net()(torch.Tensor(1))
agent.start()
Net()(torch.Tensor(1))
"""
    rows = recorded(AGENT + FAKE_NET + program, folder, FAKE, TRACELODE_RECORD_HOOKS="module").rows["range"]
    assert [(row["name"], row["depth"]) for row in rows] == [("Net.first", 1), ("Net.second", 1), ("Net", 0)]


def test_a_module_or_an_optimizer_that_refuses_harms_nothing(folder: Path) -> None:
    program = """
class Refusing(torch.nn.Module):
    def named_modules(self, *_): raise RuntimeError("asked")
    def forward(self): return 7
assert Refusing()() == 7
bare = torch.optim.Optimizer([])
del bare.param_groups
bare.step()
agent.mark("end")
"""
    found = recorded(AGENT + FAKE_NET + program, folder, FAKE, TRACELODE_RECORD_HOOKS="module,phase,tensor")
    assert found.ranges(4) == ["end"]
    assert found.said("state")["errors"] == 2
    assert found.said("state")["error"] == "AttributeError: 'Optimizer' object has no attribute 'param_groups'"
