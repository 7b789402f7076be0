"""Stands for PyTorch where it is not installed: what the agent's hooks touch of 2.13, and no more.

Behaviour was compared with the real one: hooks run at the same points, modes are a stack of the thread, a storage is
the same object as long as it lives, and sequence numbers move with each node.
"""

import itertools

from torch import _C, nn
from torch import autograd as autograd
from torch import compiler as compiler
from torch import cuda as cuda
from torch import optim as optim
from torch import utils as utils

__version__ = "2.13.0+fake"

strided, float32 = "torch.strided", "torch.float32"


class Device:
    type, index = "cpu", None


class Storage:
    addresses = itertools.count(0x1000, 0x100)

    def __init__(self, size):
        self.address, self.size = next(self.addresses), size

    def data_ptr(self):
        return self.address

    def nbytes(self):
        return self.size

    def resize_(self, size):
        self.address, self.size = next(self.addresses), size


class Tensor:
    layout, dtype, is_nested, grad = strided, float32, False, None

    def __init__(self, *shape, storage=None):
        self.shape = shape
        self.device = Device()
        count = 1
        for length in shape:
            count *= length
        self.storage = storage or Storage(4 * count)

    def untyped_storage(self):
        return self.storage

    def view(self):
        return call("aten::view", lambda one: Tensor(*one.shape, storage=one.storage), self, node=True)


class Parameter(Tensor):
    pass


Tensor.__module__ = Parameter.__module__ = "torch"
nn.Parameter = Parameter


class Schema:
    def __init__(self, name):
        self.name = name


operators = {}


class Operator:
    def __init__(self, name):
        self._schema, self.work = Schema(name), None

    def __call__(self, *args):
        return self.work(*args)


def call(name, work, *args, node=False):
    """An operator, as the dispatcher calls it: the node is made, then the innermost mode sees the call."""
    operator = operators.setdefault(name, Operator(name))
    operator.work = work
    if node:
        _C.local.following += 1
    if not _C.local.stack:
        return operator(*args)
    mode = _C.local.stack.pop()
    try:
        return mode.__torch_dispatch__(operator, (), args)
    finally:
        _C.local.stack.append(mode)
