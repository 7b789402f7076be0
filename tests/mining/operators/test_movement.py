from tests.mining.operators.calls import worked


def test_a_copy_reads_the_source_and_writes_the_target() -> None:
    done = worked("aten::copy_", [10], [10], None, types=["c10::Half", "float", "Scalar"])
    assert (done.flops, done.bytes) == (0, 20 + 40)


def test_a_cast_has_the_type_asked_for() -> None:
    assert worked("aten::_to_copy", [10], None, values=["", "15"]).bytes == 40 + 20
    assert worked("aten::_to_copy", [10], None).bytes == 80


def test_filling_and_cloning() -> None:
    assert worked("aten::fill_", [10], None).bytes == 40
    assert worked("aten::zero_", [], type="c10::BFloat16").bytes == 2
    assert worked("aten::clone", [10], None).bytes == 80
    assert worked("aten::normal_", [10], None).bytes == 40


def test_types_in_lists_are_not_recorded() -> None:
    done = worked("aten::cat", [[2, 3], [4, 3]], None)
    assert (done.flops, done.bytes, done.bytes_missing) == (0, None, "types not recorded")


def test_look_ups_read_the_rows_that_are_asked_for() -> None:
    indices = ["float", "long int", "Scalar"]
    done = worked("aten::embedding", [1000, 8], [5], None, types=indices)
    assert (done.flops, done.bytes) == (0, 2 * 4 * 5 * 8 + 8 * 5)
    back = worked("aten::embedding_dense_backward", [5, 8], [5], None, types=indices, values=["", "", "1000"])
    assert (back.flops, back.bytes) == (40, 4 * 40 + 40 + 4 * 8000)
    bag = worked("aten::_embedding_bag", [1000, 8], [5], [2], types=["float", "long int", "long int"])
    assert (bag.flops, bag.bytes) == (40, 4 * 40 + 40 + 16 + 4 * 16)


def test_selecting_and_gathering() -> None:
    types = ["float", "Scalar", "long int"]
    done = worked("aten::index_select", [4, 5, 6], None, [3], types=types, values=["", "-1"])
    assert done.bytes == 2 * 4 * (4 * 5 * 3) + 24
    assert worked("aten::index_select", [4], None, [3], types=types, values=["", "2"]).bytes is None
    assert worked("aten::gather", [4, 5], None, [2, 2], types=types).bytes == 2 * 16 + 32


def test_enlarging_and_dropping() -> None:
    up = worked("aten::upsample_nearest2d", [1, 2, 3, 3], None, values=["", "[6, 6]"])
    assert (up.flops, up.bytes) == (0, 4 * (18 + 72))
    assert worked("aten::upsample_nearest2d", [1, 2, 3, 3], None, values=["", "[6]"]).bytes is None
    drop = worked("aten::native_dropout", [10], None, None)
    assert (drop.flops, drop.bytes) == (20, 40 + 40 + 10)
