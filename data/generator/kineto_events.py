"""The text of each kind of Kineto event: what is the same for an operator or kernel is written out once."""

import json
from collections.abc import Callable, Iterator

from .records import Call, Copy, Kernel, Memory, Operator, Segment, Shade, Span, Wait, Work
from .run import KINETO_BASE_NS, START_NS
from .workload import Workload

__all__ = ["Templates", "clock", "duration"]

SM_COUNT, SM_WARPS = 132, 64
# CUPTI's numbers of the API functions; those from the driver are written as another category.
CALLBACKS = {
    "cudaMemcpyAsync": 41, "cudaMemsetAsync": 51, "cudaStreamSynchronize": 131, "cudaEventRecord": 135,
    "cudaStreamWaitEvent": 147, "cudaDeviceSynchronize": 165, "cudaLaunchKernel": 211, "cudaLaunchKernelExC": 430,
    "cuLaunchKernel": 307,
}  # fmt: skip
_EVENT = (
    '  {\n    "ph": "X", "cat": "%s", "name": %s, "pid": %s, "tid": %s,\n    "ts": %s, "dur": %s,\n'
    '    "args": {\n      '
)
_END = "\n    }\n  },\n"
_FLOW = '  {\n    "ph": "%s", "id": %%d, "pid": %d, "tid": %%d, "ts": %%s,\n    "cat": "%s", "name": "%s"%s\n  },\n'


def clock(time_ns: int) -> str:
    """Returns a time of the run as the file has it: microseconds from its base, with three decimals."""
    text = str(START_NS - KINETO_BASE_NS + time_ns)
    return f"{text[:-3]}.{text[-3:]}"


def duration(nanoseconds: int) -> str:
    """Returns a duration in microseconds with three decimals."""
    return f"{nanoseconds // 1000}.{nanoseconds % 1000:03d}"


class Templates:
    """Writes the events of one process."""

    def __init__(self, workload: Workload) -> None:
        self._process, self._device = workload.process, workload.device
        self._threads = workload.threads
        self._ranks = workload.world_size
        self._known: dict[object, str] = {}
        process, device = workload.process, workload.device
        self._launch_flow = _FLOW % ("s", process, "ac2g", "ac2g", "")
        self._work_flow = _FLOW % ("f", device, "ac2g", "ac2g", ', "bp": "e"')
        self._forward_flow = _FLOW % ("s", process, "fwdbwd", "fwdbwd", "")
        self._backward_flow = _FLOW % ("f", process, "fwdbwd", "fwdbwd", ', "bp": "e"')

    def segment(self, segment: Segment) -> Iterator[str]:
        """Yields the host's events, then the calls with their device work, then waits and annotations' shadows."""
        for event in segment.host:
            if isinstance(event, Span):
                yield self._span(event)
                if event.sequence is not None and not event.operator.name.startswith("autograd::"):
                    flow = self._backward_flow if event.operator.backward else self._forward_flow
                    yield flow % (event.sequence, self._threads[event.thread], clock(event.start_ns))
            else:
                yield self._memory(event)
        for call in segment.calls:
            work = call.work
            if work is None:
                yield self._call(call)
                continue
            yield self._work(work)
            yield self._work_flow % (call.correlation, work.stream, clock(work.start_ns))
            yield self._call(call)
            yield self._launch_flow % (call.correlation, self._threads[call.thread], clock(call.start_ns))
        for wait in segment.waits:
            yield self._wait(wait)
        for shade in segment.shades:
            yield self._shade(shade)

    def _template(self, key: object, made: Callable[[], str]) -> str:
        template = self._known.get(key)
        if template is None:
            template = self._known[key] = made()
        return template

    def _span(self, span: Span) -> str:
        operator = span.operator
        template = self._template((operator, span.thread), lambda: self._span_template(operator, span.thread))
        times = clock(span.start_ns), duration(span.end_ns - span.start_ns)
        if operator.category == "python_function":
            return template % (*times, "null" if span.parent is None else span.parent, span.id, span.ordinal)
        if span.sequence is None:
            sequence = ""
        else:
            sequence = f'"Sequence number": {span.sequence}, "Fwd thread id": {int(operator.backward)}, '
        return template % (*times, span.id, sequence, span.ordinal)

    def _span_template(self, operator: Operator, thread: int) -> str:
        head = _EVENT % (operator.category, _quoted(operator.name), self._process, self._threads[thread], "%s", "%s")
        if operator.category == "python_function":
            return head + '"Python parent id": %s, "Python id": %d, "Ev Idx": %d' + _END
        inputs = ""
        if operator.dims:
            inputs = (
                f'"Concrete Inputs": {json.dumps(operator.concrete)}, "Input type": {json.dumps(operator.types)}, '
                f'"Input Dims": {json.dumps(operator.dims)}, '
            ).replace("%", "%%")
        return f'{head}"External id": %d,"Record function id": 0, %s{inputs}"Ev Idx": %d{_END}'

    def _memory(self, memory: Memory) -> str:
        return (
            '  {\n    "ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]",\n'
            f'    "pid": {self._process}, "tid": {self._threads[memory.thread]},\n    "ts": {clock(memory.time_ns)},\n'
            f'    "args": {{\n      "Total Reserved": {memory.reserved}, "Total Allocated": {memory.allocated}, '
            f'"Bytes": {memory.bytes}, "Addr": {memory.address}, "Device Id": {self._device}, "Device Type": 1, '
            f'"Ev Idx": {memory.ordinal}{_END}'
        )

    def _call(self, call: Call) -> str:
        template = self._template((call.name, call.thread), lambda: self._call_template(call.name, call.thread))
        owner = f'"External id": {call.owner},' if call.owner else ""
        return template % (clock(call.start_ns), duration(call.end_ns - call.start_ns), owner, call.correlation)

    def _call_template(self, name: str, thread: int) -> str:
        category = "cuda_runtime" if name.startswith("cuda") else "cuda_driver"
        head = _EVENT % (category, _quoted(name), self._process, self._threads[thread], "%s", "%s")
        return f'{head}%s      "cbid": {CALLBACKS[name]}, "correlation": %d{_END}'

    def _work(self, work: Work) -> str:
        template = self._template((work.spec, work.stream), lambda: self._work_template(work))
        time = work.end_ns - work.start_ns
        owner = f'"External id": {work.owner},' if work.owner else ""
        values = clock(work.start_ns), duration(time), owner, work.correlation
        return template % (values if isinstance(work.spec, Kernel) else (*values, work.spec.bytes / time))

    def _work_template(self, work: Work) -> str:
        spec, place = work.spec, f'"device": {self._device}, "context": 1,      "stream": {work.stream}'
        if isinstance(spec, Kernel):
            category, details = "kernel", self._kernel_details(spec)
            place = f'"queued": 0, {place}'
        else:
            category = "gpu_memcpy" if isinstance(spec, Copy) else "gpu_memset"
            details = f'"bytes": {spec.bytes}, "memory bandwidth (GB/s)": %s'
        head = _EVENT % (category, _quoted(spec.name), self._device, work.stream, "%s", "%s")
        return f'{head}%s      {place}, "correlation": %d,      {details}{_END}'

    def _kernel_details(self, kernel: Kernel) -> str:
        blocks = kernel.grid[0] * kernel.grid[1] * kernel.grid[2] / SM_COUNT
        threads = kernel.block[0] * kernel.block[1] * kernel.block[2]
        warps = blocks * -(-threads // 32)
        details = (
            f'"registers per thread": {kernel.registers},      '
            f'"shared memory": {kernel.static_shared + kernel.dynamic_shared},      '
            f'"blocks per SM": {blocks:.6f},      "warps per SM": {warps:.6f},      '
            f'"grid": {list(kernel.grid)},      "block": {list(kernel.block)},      '
            f'"est. achieved occupancy %%": {min(100, round(100 * warps / SM_WARPS))}'
        )
        if kernel.reduces:
            elements = kernel.reduces // 2
            details += (
                f', "Collective name": "allreduce", "In msg nelems": {elements}, "Out msg nelems": {elements}, '
                f'"Group size": {self._ranks}, "dtype": "BFloat16", "In split size": "[]", "Out split size": "[]", '
                '"Process Group Name": "0", "Process Group Description": "default_pg", '
                f'"Process Group Ranks": "{list(range(self._ranks))}"'
            )
        return details

    def _wait(self, wait: Wait) -> str:
        thread = -1 if wait.stream is None else wait.stream
        head = _EVENT % (
            "cuda_sync", _quoted(wait.kind), self._device, thread, clock(wait.start_ns),
            duration(wait.end_ns - wait.start_ns),
        )  # fmt: skip
        owner = f'"External id": {wait.owner},' if wait.owner else ""
        event = ""
        if wait.event is not None:
            event = (
                f'      "wait_on_stream": {wait.event_stream},      "wait_on_cuda_event_record_corr_id": '
                f'{wait.event_correlation},      "wait_on_cuda_event_id": {wait.event},'
            )
        return (
            f'{head}{owner}      "cuda_sync_kind": "{wait.kind}",{event}      "stream": {thread}, '
            f'"correlation": {wait.correlation},      "device": {self._device}, "context": 1{_END}'
        )

    def _shade(self, shade: Shade) -> str:
        head = _EVENT % (
            "gpu_user_annotation", _quoted(shade.operator.name), self._device, shade.stream, clock(shade.start_ns),
            duration(shade.end_ns - shade.start_ns),
        )  # fmt: skip
        return f'{head}"External id": {shade.id}{_END}'


def _quoted(name: str) -> str:
    return json.dumps(name).replace("%", "%%")
