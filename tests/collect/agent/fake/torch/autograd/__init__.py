from torch import _C


def _get_sequence_nr():
    return _C.local.following


def _engine_run_backward(work, number):
    _C.local.task, _C.local.node = 0, _C.Node(number)
    try:
        return work()
    finally:
        _C.local.task, _C.local.node = -1, None


def backward(work, number=0):
    return _engine_run_backward(work, number)
