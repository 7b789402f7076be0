"""The tables that the miner derives about a workload: what its work belongs to, and how it uses memory."""

from .columns import DEVICE, END, F64, I32, I64, PROCESS, START, TEXT, Column, Kind, Table

__all__ = ["MEMORY"]

EVIDENCE = Column(
    "evidence",
    TEXT,
    "A: measured accesses; B: inputs of the launching operator, and its outputs as far as `outputs` says: an upper "
    "bound on what it touches of these; C: lifetimes of allocations only",
    required=True,
)
SITE = (
    Column("operator", TEXT, "innermost framework operator around the host call; null where unknown"),
    Column("outermost", TEXT, "outermost one"),
    Column("module", TEXT, "innermost module around it, or annotation where no module was recorded"),
    Column("path", TEXT, "it and those around it, from the outermost on, with slashes between"),
    Column(
        "module_from",
        TEXT,
        "what tells it: module or annotation (around the host call), sequence (around the forward operator of its "
        "autograd sequence number)",
    ),
    Column("phase", TEXT, "forward, backward or optimizer; null where nothing tells"),
    Column(
        "phase_from",
        TEXT,
        "what tells it: operator (its own phase), span (of a phase), autograd (its engine runs it), sequence (a "
        "backward operator has its number), annotation (its name), thread (of the autograd engine alone)",
    ),
)
GRANULARITY = Column("granularity", TEXT, "object (of the driver, or of a pool) or tensor", required=True)
OF_DEVICE = Column("device", I32, "device ordinal; null where the source does not say which")

MEMORY = (
    Table(
        "attribution",
        Kind.MINED,
        "device operation with what its host call was made in",
        (
            PROCESS,
            DEVICE,
            Column("stream", I64, "stream or queue", required=True),
            START,
            END,
            Column("kind", TEXT, "kernel, copy or fill", required=True),
            Column("work_ns", I64, "its duration; 0 where the times are not to be trusted", "ns", required=True),
            Column("bytes", I64, "bytes copied or set", "bytes"),
            Column("family", TEXT, "category of a kernel by its name, direction of a copy, or fill", required=True),
            Column("linked", I32, "1: the host call is known; 0: it is not", required=True),
            *SITE,
        ),
        sort=("process", "device", "stream", "start_ns", "end_ns"),
    ),
    Table(
        "memory_curve",
        Kind.MINED,
        "change of what is allocated on a device, and what is allocated after it",
        (
            PROCESS,
            OF_DEVICE,
            GRANULARITY,
            Column(
                "source",
                TEXT,
                "total: the allocator's own totals; lives: allocations seen, and those told to be older; changes: "
                "sums of changes from an unknown beginning, so the level is relative; launches: totals at launches",
                required=True,
            ),
            Column("event", I64, "number of the change, from 0", required=True),
            Column("time_ns", I64, "time of it; null where the source has no times", "ns"),
            Column("bytes", I64, "allocated after it", "bytes", required=True),
            Column(
                "stage",
                TEXT,
                "ramp-up, peak or ramp-down, of the main iteration that holds the peak; null outside it; of the whole "
                "recording where there are fewer than 3 iterations, that one does not end near the level that it "
                "begins with, or the curve hardly varies",
            ),
        ),
        sort=("process", "device", "granularity", "event"),
    ),
    Table(
        "memory_life",
        Kind.MINED,
        "allocation of device memory: how long it lives, who asked for it, whether it stands at the peak",
        (
            PROCESS,
            OF_DEVICE,
            GRANULARITY,
            Column("kind", TEXT, "`allocation.kind`", required=True),
            Column("address", I64, "first address"),
            Column("bytes", I64, "size", "bytes", required=True),
            Column("birth_ns", I64, "allocation; null when before the recording, or not known", "ns"),
            Column("death_ns", I64, "release; null when after the recording, or not known", "ns"),
            Column(
                "fate",
                TEXT,
                "released; older (than the recording, and released); kept (older, and alive at the end); alive at "
                "the end (born in the recording)",
                required=True,
            ),
            Column("at_peak", I32, "1: alive when its device has most allocated of this granularity", required=True),
            Column("birth_iteration", I32, "`iteration.iteration` of the main level whose launches it is among"),
            Column("owner", TEXT, "`allocation.owner`"),
            Column("stack", TEXT, "`allocation.stack`"),
            *SITE,
        ),
        sort=("process", "device", "granularity", "birth_ns", "address"),
    ),
    Table(
        "working_set",
        Kind.MINED,
        "kernel launch, with what it touches and what is allocated then",
        (
            PROCESS,
            OF_DEVICE,
            Column(
                "memory_device",
                I32,
                "device whose memory it works with: `device`, or the ordinal that memory is told of where the process "
                "has one device with kernels and one with memory, of another number",
            ),
            Column("launch", I64, "number of the launch in its process, from 0", required=True),
            Column("start_ns", I64, "start on the device; null where the source has no times", "ns"),
            Column("kernel", TEXT, "kernel name"),
            Column("op", I64, "`op.id` of the innermost operator around the launch"),
            EVIDENCE,
            Column("accesses", I64, "accesses of active threads to global memory; only where measured"),
            Column("object_bytes", I64, "sizes of the objects that it touches, each as a whole", "bytes"),
            Column("tensor_bytes", I64, "sizes of the tensors that it touches, each as a whole", "bytes"),
            Column(
                "output_bytes", I64, "what of `tensor_bytes` are outputs made beside the inputs; only in B", "bytes"
            ),
            Column(
                "outputs",
                TEXT,
                "only in B: operands (it writes into inputs alone), formula (the kind of operator gives all outputs "
                "from the inputs), part (it leaves some out, such as statistics of rows), unknown (inputs alone are "
                "counted)",
            ),
            Column(
                "object_footprint_bytes",
                I64,
                "objects allocated at the launch; null where no curve tells, as before its first change",
                "bytes",
            ),
            Column("tensor_footprint_bytes", I64, "tensors allocated at the launch; null likewise", "bytes"),
        ),
        sort=("process", "launch"),
    ),
    Table(
        "memory_diff",
        Kind.MINED,
        "point of the curve of allocated memory beside that of another trace, its base",
        (
            Column("base", TEXT, "`trace_id` of the trace it is compared with", required=True),
            GRANULARITY,
            Column("axis", TEXT, "event: by number of the change; share: by share of the changes", required=True),
            Column("position", F64, "number of the change, or share of all, 0 to 1", required=True),
            Column("base_bytes", I64, "allocated in the base; null behind its last change", "bytes"),
            Column("bytes", I64, "allocated in the trace; null behind its last change", "bytes"),
            Column("difference_bytes", I64, "bytes - base_bytes; null where one of them is", "bytes"),
        ),
    ),
)
