import json

from tests.mining.operators.calls import worked
from tracelode.mining.operator_work import work
from tracelode.mining.operators.call import read_call


def _told(**more: object) -> str:
    return json.dumps({"Collective name": "allreduce", "In msg nelems": 100, "Out msg nelems": 800} | more)


def test_the_size_is_the_larger_of_what_goes_in_and_out() -> None:
    done = work("record_param_comms", read_call("record_param_comms", "[[100]]", '["float"]', _told(dtype="BFloat16")))
    assert (done.family, done.flops, done.bytes, done.detail) == ("collective", 0, 1600, "allreduce")


def test_without_its_metadata_there_is_no_size() -> None:
    for args in (_told(), _told(dtype=3), '{"dtype": "Float"}', "[]", ""):
        done = work("record_param_comms", read_call("record_param_comms", "[[100]]", '["float"]', args))
        assert done.bytes is None


def test_operators_of_communication_move_their_tensors() -> None:
    assert worked("c10d::_allgather_base_", [800], [100], None).bytes == 3200
    assert worked("symm_mem::multimem_all_reduce_", [100], None, None, type="c10::Half").bytes == 200
    assert worked("c10d::allreduce_", [[100], [7]], None).bytes_missing == "types not recorded"
    assert worked("c10d::broadcast_", None).missing == "no shape of an operand"


def test_a_generated_kernel_has_bytes_alone() -> None:
    done = worked("triton_poi_fused_add_0", [10], [10], None, type="c10::Half")
    assert (done.family, done.flops, done.bytes) == ("generated", None, 40)
    assert done.missing == "a generated kernel: its name tells no arithmetic"
