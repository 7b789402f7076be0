# ruff: noqa: N999 PyTorch calls it so
import threading
import types


class Local(threading.local):
    def __init__(self):
        self.stack, self.following, self.task, self.node = [], 0, -1, None


class Node:
    def __init__(self, number):
        self.number = number

    def _sequence_nr(self):
        return self.number


local = Local()
skipped = []
_dynamo = types.SimpleNamespace(eval_frame=types.SimpleNamespace(skip_code=skipped.append))


def _current_graph_task_id():
    return local.task


def _current_autograd_node():
    return local.node


def _len_torch_dispatch_stack():
    return len(local.stack)


def _get_dispatch_stack_at(place):
    return local.stack[place]
