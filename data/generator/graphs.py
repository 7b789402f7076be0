"""One small training step as the formats without a timeline have it: `python -m data.generator.graphs FOLDER`.

PyTorch's execution trace, the profile of the same step (joined to it by record-function ids), Chakra's graph of both,
and the totals of Triton's Proton. Nothing here is drawn at random: two runs write the same bytes.
"""

import argparse
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["OPERATORS", "Operator", "Tensor", "main", "write_graphs"]

PID, SCHEMA = 4711, "1.1.1-chakra.0.0.4"
FIRST_NODE = 3
"""Node 1 is the process, node 2 its main thread; the thread of the backward pass comes when it is first used."""
MAIN, BACKWARD = 1, 2
FUNCTION, BACKWARD_FUNCTION, USER_SCOPE = 0, 1, 7
COMPUTE, COLLECTIVE = 4, 7
START_US = 1_767_225_600_000_000
STEP_US = 40


@dataclass(frozen=True)
class Tensor:
    """A tensor of floats on the first device."""

    id: int
    shape: tuple[int, ...]

    @property
    def value(self) -> list[Any]:
        """As execution traces write it: tensor, storage, offset, elements, bytes an element, device."""
        elements = 1
        for size in self.shape:
            elements *= size
        return [self.id, self.id + 100, 0, elements, 4, "cuda:0"]


@dataclass(frozen=True)
class Operator:
    """An operator or a scope: the number of the one it is in (None: its thread), and the kernel it launches."""

    name: str
    parent: int | None = None
    thread: int = MAIN
    scope: int = FUNCTION
    sequence: int = -1
    forward: int | None = None
    inputs: tuple[Tensor, ...] = ()
    outputs: tuple[Tensor, ...] = ()
    schema: str = ""
    kernel: str | None = None
    kernel_us: int = 0


INPUT, WEIGHT, HIDDEN, OUTPUT = (
    Tensor(11, (64, 256)),
    Tensor(12, (256, 128)),
    Tensor(13, (64, 128)),
    Tensor(14, (64, 128)),
)
LOSS, GRADIENT = Tensor(15, ()), Tensor(16, (256, 128))
GEMM, GRADIENT_GEMM = (
    "small_gemm_f32_f32_f32_tn_n_tilesize64x64x8_kernel",
    "small_gemm_f32_f32_f32_nt_n_tilesize64x64x8_kernel",
)
GELU, REDUCE = "triton_poi_fused_gelu_0", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
MEAN = "void small::reduce_kernel<128, float, small::Mean>(float*, float const*, int)"
STEP = "triton_poi_fused_add_mul_0"

MM, MEAN_OF = "aten::mm(Tensor self, Tensor mat2) -> Tensor", "aten::mean(Tensor self) -> Tensor"
ADD = "aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)"

OPERATORS = (
    Operator("ProfilerStep#3", scope=USER_SCOPE),
    Operator(
        "aten::mm", 0, sequence=7, inputs=(INPUT, WEIGHT), outputs=(HIDDEN,), schema=MM, kernel=GEMM, kernel_us=21
    ),
    Operator("triton_poi_fused_gelu_0", 0, inputs=(HIDDEN,), outputs=(OUTPUT,), kernel=GELU, kernel_us=3),
    Operator("aten::mean", 0, sequence=8, inputs=(OUTPUT,), outputs=(LOSS,), schema=MEAN_OF, kernel=MEAN, kernel_us=5),
    Operator("MeanBackward0", None, BACKWARD, BACKWARD_FUNCTION, 8, 3, (LOSS,)),
    Operator("MmBackward0", None, BACKWARD, BACKWARD_FUNCTION, 7, 1, (OUTPUT,)),
    Operator(
        "aten::mm",
        5,
        BACKWARD,
        inputs=(INPUT, OUTPUT),
        outputs=(GRADIENT,),
        schema=MM,
        kernel=GRADIENT_GEMM,
        kernel_us=26,
    ),
    Operator("record_param_comms", 0, inputs=(GRADIENT,), outputs=(GRADIENT,), kernel=REDUCE, kernel_us=48),
    Operator("Optimizer.step#SGD.step", 0, scope=USER_SCOPE),
    Operator("aten::add_", 8, inputs=(WEIGHT, GRADIENT), outputs=(WEIGHT,), schema=ADD, kernel=STEP, kernel_us=5),
)


def write_graphs(folder: Path) -> None:
    """Writes the four files."""
    folder.mkdir(parents=True, exist_ok=True)
    _write_json(folder / "execution-trace.json", _execution_trace())
    _write_json(folder / "execution-trace.profile.json", _profile())
    _write_json(folder / "proton.json", _proton())
    (folder / "chakra.et").write_bytes(_chakra())


def _write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, indent=1) + "\n")


def _backward_node() -> int:
    """The id of the node of the backward thread: it follows the last node of the main thread before it."""
    return FIRST_NODE + next(at for at, one in enumerate(OPERATORS) if one.thread == BACKWARD)


def _node_of(at: int) -> int:
    """The id of an operator's node."""
    return FIRST_NODE + at + (FIRST_NODE + at >= _backward_node())


def _parent_of(one: Operator) -> int:
    if one.parent is not None:
        return _node_of(one.parent)
    return _backward_node() if one.thread == BACKWARD else 2


def _attributes(at: int, one: Operator) -> dict[str, Any]:
    """What PyTorch says of every node; 0 (or -1 for the sequence) where there is nothing to say."""
    return {
        "rf_id": at + 1,
        "fw_parent": 0 if one.forward is None else _node_of(one.forward),
        "seq_id": one.sequence,
        "scope": one.scope,
        "tid": one.thread,
        "fw_tid": 0 if one.forward is None else MAIN,
        "op_schema": one.schema,
    }


def _execution_trace() -> dict[str, Any]:
    nodes = [_lane(2, "thread", MAIN)]
    for at, one in enumerate(OPERATORS):
        if _node_of(at) == _backward_node() + 1:
            nodes.append(_lane(_backward_node(), "thread", BACKWARD))
        nodes.append(_node(_node_of(at), one.name, _parent_of(one), one.inputs, one.outputs, _attributes(at, one)))
    nodes.append(_lane(1, "process", 0))
    head = {"schema": SCHEMA, "pid": PID, "time": "2026-01-01 00:00:00", "start_ts": 86400000, "nodes": nodes}
    return head | {"finish_ts": 86400001}


def _lane(number: int, kind: str, thread: int) -> dict[str, Any]:
    attributes = {
        "rf_id": 0,
        "fw_parent": 0,
        "seq_id": -1,
        "scope": USER_SCOPE,
        "tid": thread,
        "fw_tid": 0,
        "op_schema": "",
    }
    return _node(number, f"[pytorch|profiler|execution_trace|{kind}]", 1, (), (), attributes)


def _node(
    number: int,
    name: str,
    parent: int,
    inputs: tuple[Tensor, ...],
    outputs: tuple[Tensor, ...],
    attributes: dict[str, Any],
) -> dict[str, Any]:
    types = {"seq_id": "int64", "op_schema": "string"}
    return {
        "id": number,
        "name": name,
        "ctrl_deps": parent,
        "inputs": _values(inputs),
        "outputs": _values(outputs),
        "attrs": [{"name": n, "type": types.get(n, "uint64"), "value": value} for n, value in attributes.items()],
    }


def _values(tensors: tuple[Tensor, ...]) -> dict[str, Any]:
    return {
        "values": [tensor.value for tensor in tensors],
        "shapes": [list(tensor.shape) for tensor in tensors],
        "types": ["Tensor(float)"] * len(tensors),
    }


def _profile() -> dict[str, Any]:
    """The same step as the profiler saw it: operators with their record-function ids, launches and kernels."""
    events: list[dict[str, Any]] = []
    for at, one in enumerate(OPERATORS):
        start, last = START_US + STEP_US * at, max(a for a in range(len(OPERATORS)) if at in _way_up(a))
        category = "user_annotation" if one.scope == USER_SCOPE else "cpu_op"
        ids = {"External id": 1000 + at, "Record function id": at + 1}
        said = ids | ({"Sequence number": one.sequence} if one.sequence >= 0 else {})
        events.append(_event(category, one.name, PID, one.thread, start, STEP_US * (last - at) + 30, said))
        if one.kernel:
            call = {"External id": 1000 + at, "correlation": 500 + at}
            events.append(_event("cuda_runtime", "cudaLaunchKernel", PID, one.thread, start + 5, 6, call))
            work = call | {"device": 0, "context": 1, "stream": 7}
            events.append(_event("kernel", one.kernel, 0, 7, start + 14, one.kernel_us, work))
    return {"schemaVersion": 1, "distributedInfo": {"rank": 0, "world_size": 2}, "traceEvents": events}


def _way_up(at: int | None) -> Iterator[int]:
    """The operator and all it is in."""
    while at is not None:
        yield at
        at = OPERATORS[at].parent


def _event(category: str, name: str, pid: int, tid: int, start: int, us: int, args: dict[str, Any]) -> dict[str, Any]:
    return {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": start, "dur": us, "args": args}


def _proton() -> list[Any]:
    kernels: dict[str, list[int]] = {}
    for one in OPERATORS:
        if one.kernel:
            kernels.setdefault(one.kernel, []).append(one.kernel_us * 1000)
    leaves = [
        _total(name, [], {"count": len(times), "time (ns)": sum(times), "device_id": "0", "device_type": "CUDA"})
        for name, times in kernels.items()
    ]
    step = _total("step", leaves, {})
    device = {"arch": "90", "bus_width": 5120, "clock_rate": 1980000, "memory_clock_rate": 2619000, "num_sms": 132}
    return [_total("ROOT", [step], {"count": 0, "time (ns)": 0}), {"CUDA": {"0": device}}]


def _total(name: str, children: list[Any], metrics: dict[str, Any]) -> dict[str, Any]:
    return {"children": children, "frame": {"name": name, "type": "function"}, "metrics": metrics}


def _chakra() -> bytes:
    """The graph as chakra_converter writes it: the nodes of the execution trace, each kernel as a node of its own."""
    said = {"schema": SCHEMA, "pid": PID, "time": "2026-01-01 00:00:00", "start_ts": 86400000, "finish_ts": 86400001}
    messages = [b"".join(_bytes(2, _attribute(name, value)) for name, value in said.items())]
    kernel_node = 100
    writers: dict[int, int] = {}
    for at, one in enumerate(OPERATORS):
        needs = sorted({writers[tensor.id] for tensor in one.inputs if tensor.id in writers})
        kind = COLLECTIVE if one.name == "record_param_comms" else COMPUTE
        attributes = _attributes(at, one) | {"is_cpu_op": True}
        messages.append(_chakra_node(_node_of(at), one, kind, [_parent_of(one)], needs, 30, attributes))
        writers |= {tensor.id: _node_of(at) for tensor in one.outputs}
        if one.kernel:
            device_work = Operator(one.kernel)
            attributes = {"is_cpu_op": False, "stream": 7}
            messages.append(_chakra_node(kernel_node, device_work, kind, [_node_of(at)], [], one.kernel_us, attributes))
            kernel_node += 1
    return b"".join(_varint(len(message)) + message for message in messages)


def _chakra_node(
    number: int, one: Operator, kind: int, control: list[int], data: list[int], us: int, attributes: dict[str, Any]
) -> bytes:
    parts = _number(1, number) + _bytes(2, one.name.encode()) + _number(3, kind)
    for place, ids in ((4, control), (5, data)):
        if ids:
            parts += _bytes(place, b"".join(_varint(one) for one in ids))
    parts += _number(7, us)
    for place, tensors in ((8, one.inputs), (9, one.outputs)):
        # Lists as Python shows them, which is how the converter writes them.
        texts = (str(value) for value in _values(tensors).values())
        parts += _bytes(place, b"".join(_bytes(at, text.encode()) for at, text in enumerate(texts, 1)))
    return parts + b"".join(_bytes(10, _attribute(name, value)) for name, value in attributes.items())


def _attribute(name: str, value: Any) -> bytes:
    if isinstance(value, bool):
        content = _number(27, int(value))
    elif isinstance(value, int):
        content = _number(9, value)
    else:
        content = _bytes(29, str(value).encode())
    return _bytes(1, name.encode()) + content


def _number(place: int, value: int) -> bytes:
    return _varint(place << 3) + _varint(value & (1 << 64) - 1)


def _bytes(place: int, content: bytes) -> bytes:
    return _varint(place << 3 | 2) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def main() -> None:
    """Reads the command line and writes the samples."""
    parser = argparse.ArgumentParser(prog="python -m data.generator.graphs", description=__doc__)
    parser.add_argument("folder", type=Path)
    write_graphs(parser.parse_args().folder)


if __name__ == "__main__":
    main()
