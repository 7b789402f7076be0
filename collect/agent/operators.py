"""Records the operators of PyTorch, forward and backward, where they reach the dispatcher below autograd.

A dispatch mode belongs to a thread; autograd takes it along to its own threads. It is entered where recording starts
and, in other threads, around the outermost call of a module, and only where no other mode is: modes are a stack.
"""

from __future__ import annotations

import importlib
import json
from typing import TYPE_CHECKING, Any

from .chunks import NONE
from .process import now
from .recording import LONGEST_NAME
from .stacks import stack_text

if TYPE_CHECKING:
    from .owners import Owners
    from .recording import Place, Recording
    from .session import Session

__all__ = ["BACKWARD", "FORWARD", "OPTIMIZER", "UNTIL_RETURN", "Operators"]

FORWARD, BACKWARD, OPTIMIZER = 1, 2, 3
UNTIL_STOP, UNTIL_RETURN = 1, 2
"""How long a thread is observed: until recording stops, or until its outermost call of a module returns."""

TYPES = {
    "torch.float32": "float",
    "torch.float64": "double",
    "torch.float16": "c10::Half",
    "torch.bfloat16": "c10::BFloat16",
    "torch.int64": "long int",
    "torch.int32": "int",
    "torch.int16": "short int",
    "torch.int8": "signed char",
    "torch.uint8": "unsigned char",
    "torch.bool": "bool",
}
"""Types as Kineto writes them; others as PyTorch does."""

MOST_TEXTS = 50_000


class Operators:
    """The dispatch mode of the process, and the threads that it is entered in."""

    def __init__(self, session: Session, torch: Any, asked: frozenset[str], owners: Owners | None) -> None:
        self._session = session
        self._torch = torch
        self._owners = owners
        self._rows = bool(asked & {"op", "shape"})
        self._shapes = "shape" in asked
        self._stacks = "stack" in asked
        self._plain = (torch.Tensor, torch.nn.Parameter)
        self._sequence = torch.autograd._get_sequence_nr
        self._backward = torch._C._current_graph_task_id
        self._node = torch._C._current_autograd_node
        self._names: dict[Any, str] = {}
        self._texts: dict[Any, tuple[str, str]] = {}
        self._mode = self._made()

    def enter(self, how: int = UNTIL_STOP) -> None:
        """Observes this thread, unless it is observed or in a mode of the program."""
        held = self._session.held
        if held is None or held.here.place.observed:
            return
        place, standing = held.here.place, self._standing()
        if self._mode in standing:  # as after a fork
            place.observed = UNTIL_STOP
        elif standing:
            held.counts["skipped_threads"] += 1
        else:
            self._mode.__enter__()
            place.observed = how
            place.sequence = self._sequence()

    def leave(self, how: int = UNTIL_STOP) -> None:
        """Ends what `enter` began. Where a mode of the program is on top, ours stays and only passes on."""
        held = self._session.held
        if held is None or held.here.place.observed != how:
            return
        standing = self._standing()
        if standing and standing[-1] is self._mode:
            self._mode.__exit__(None, None, None)
            held.here.place.observed = 0

    def _standing(self) -> list[Any]:
        core = self._torch._C
        return [core._get_dispatch_stack_at(place) for place in range(core._len_torch_dispatch_stack())]

    def _made(self) -> Any:
        base = importlib.import_module("torch.utils._python_dispatch").TorchDispatchMode
        session, observe = self._session, self._observe

        class Observer(base):
            supports_higher_order_operators = True

            @classmethod
            def ignore_compile_internals(cls) -> bool:
                return True  # or torch.compile would compile nothing

            @classmethod
            def _should_skip_dynamo(cls) -> bool:
                return False  # or the compiler would be imported at the first operator

            def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                recording = session.recording
                start = now()
                result = func(*args, **kwargs) if kwargs else func(*args)
                if recording is not None:
                    observe(recording, func, args, result, start)
                return result

        return Observer()

    def _observe(self, recording: Recording, func: Any, args: Any, result: Any, start: int) -> None:
        end = now()
        try:
            place = recording.here.place
            phase, sequence = self._phase(place)
            stack = NONE
            if self._stacks:
                frames = stack_text(self._torch)
                stack = recording.name(frames) if frames else NONE  # autograd's threads have none
            if self._rows:
                shapes, types = self._described(recording, args) if self._shapes else (NONE, NONE)
                name = recording.name(self._names.get(func) or self._named(func))
                row = (start, end, place.thread, name, sequence, phase, shapes, types, stack)
                recording.keep("op", row, end)
            if self._owners is not None:
                self._owners.seen(recording, place, result, phase, stack)
        except Exception as error:  # noqa: BLE001 whatever a tensor of the program's own kind does when it is asked
            recording.trouble(error)

    def _phase(self, place: Place) -> tuple[int, int]:
        """In which phase an operator ran, and the sequence number by which forward and backward belong together.

        Autograd numbers the nodes of a thread; an operator made one if the number to come has moved. A backward
        operator runs in a node, which has the number of the forward operator that made it.
        """
        if self._backward() != -1:
            node = self._node()
            number = -1 if node is None else node._sequence_nr()
            return BACKWARD, number if number < 1 << 63 else -1  # the largest stands for none
        following = self._sequence()
        made = following - 1 if following != place.sequence else -1
        place.sequence = following
        if place.optimizers:
            return OPTIMIZER, made
        return FORWARD if place.modules else 0, made

    def _named(self, func: Any) -> str:
        """The operator's name as Kineto writes it, without the overload: `aten::addmm`."""
        schema = getattr(func, "_schema", None)
        name = str(func.name() if schema is None else schema.name)
        if len(self._names) < MOST_TEXTS:
            self._names[func] = name
        return name

    def _described(self, recording: Recording, args: Any) -> tuple[int, int]:
        """The shapes and the types of the arguments, as JSON lists."""
        described = tuple(self._argument(argument) for argument in args)
        texts = self._texts.get(described)
        if texts is None:
            shapes, types = [shape for shape, _ in described], [TYPES.get(kind, kind) for _, kind in described]
            texts = json.dumps(shapes), json.dumps(types)
            if len(self._texts) < MOST_TEXTS:
                self._texts[described] = texts
        if max(map(len, texts)) > LONGEST_NAME:  # as of an optimizer's operator on all parameters: cut, it says nothing
            return NONE, NONE
        return recording.name(texts[0]), recording.name(texts[1])

    def _argument(self, argument: Any) -> tuple[tuple[Any, ...], str]:
        if type(argument) in self._plain and not argument.is_nested:  # others may answer with symbols, or not at all
            return tuple(argument.shape), str(argument.dtype)
        if isinstance(argument, (list, tuple)) and any(type(one) in self._plain for one in argument):
            return tuple(self._argument(one)[0] for one in argument), "TensorList"
        return (), "Scalar" if isinstance(argument, (bool, int, float)) else ""
