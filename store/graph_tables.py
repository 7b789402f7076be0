"""The tables of recordings without a timeline: graphs of operators, and trees of totals."""

from .columns import ARGS, I32, I64, NAME, PROCESS, TEXT, Column, Kind, Table

__all__ = ["GRAPHS"]

GRAPHS = (
    Table(
        "node",
        Kind.EVENT,
        "node of an execution graph: an operator, a scope or a piece of device work, with what it depends on",
        (
            PROCESS,
            Column("id", I64, "id the source gave it; a note says where one is there twice"),
            Column("parent", I64, "`node.id` of the node it ran within; never a node below itself"),
            NAME,
            Column(
                "kind",
                TEXT,
                "operator, label, collective, thread, process; compute, send, receive, load, store, ... as Chakra "
                "tells them; kernel, copy, fill on a device",
                required=True,
            ),
            Column("thread", I64, "thread, as the source numbers it"),
            Column("external", I64, "record-function id: `Record function id` in the `args` of a Kineto trace's `op`"),
            Column("sequence", I64, "autograd sequence number, shared by a forward operator and its backward"),
            Column("forward", I64, "id of the forward thread's node that a backward one belongs to"),
            Column("forward_thread", I64, "thread of the forward operator, on a backward one"),
            Column("start_ns", I64, "start, where the source says: most do not", "ns"),
            Column("time_ns", I64, "how long it ran, where the source says", "ns"),
            Column("inputs", TEXT, "JSON list of the inputs; a tensor is a list: id, storage, offset, elements, ..."),
            Column("shapes", TEXT, "JSON list of the input shapes"),
            Column("types", TEXT, "JSON list of the input types"),
            Column("outputs", TEXT, "JSON list of the outputs"),
            Column("output_shapes", TEXT, "JSON list of the output shapes"),
            Column("output_types", TEXT, "JSON list of the output types"),
            Column("control", TEXT, "JSON list of the nodes it follows, where they are not just its parent"),
            Column("data", TEXT, "JSON list of the nodes whose results it needs"),
            ARGS,
        ),
        sort=("process", "id"),
    ),
    Table(
        "total",
        Kind.EVENT,
        "node of a tree of totals: what a scope or a kernel came to over the whole recording",
        (
            PROCESS,
            Column("id", I64, "row number within the trace, from 0, parents before what is in them", required=True),
            Column("parent", I64, "`total.id` of the node it is in; null at the top"),
            Column("depth", I32, "number of nodes it is in", required=True),
            NAME,
            Column("kind", TEXT, "kind of node, as the source names it"),
            Column("device", I32, "device ordinal"),
            Column("device_kind", TEXT, "CUDA, HIP, ... as the source names it"),
            Column("count", I64, "executions"),
            Column("time_ns", I64, "time of those executions, without what the nodes in it have", "ns"),
            ARGS,
        ),
        sort=("process", "id"),
    ),
)
