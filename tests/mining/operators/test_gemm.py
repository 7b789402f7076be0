from typing import Any

import pytest

from tests.mining.operators.calls import counted, numbers, worked

Matrix = list[list[Any]]


def _matrix(rows: int, columns: int) -> Matrix:
    some = numbers(rows * columns)
    return [some[row * columns : (row + 1) * columns] for row in range(rows)]


def _multiplied(one: Matrix, two: Matrix) -> int:
    """The operations of the product by its definition, each sum begun with 0."""
    with counted() as found:
        for row in one:
            for column in zip(*two, strict=True):
                total: Any = numbers(1)[0]
                for a, b in zip(row, column, strict=True):
                    total = total + a * b
    return found[0]


def test_a_product_of_matrices_has_as_many_operations_as_its_definition() -> None:
    expected = _multiplied(_matrix(3, 4), _matrix(4, 5))
    assert expected == 120
    assert worked("aten::mm", [3, 4], [4, 5]).flops == expected
    assert worked("aten::addmm", [5], [3, 4], [4, 5], None, None).flops == expected  # the bias is not counted
    assert worked("aten::linear", [3, 4], [5, 4], [5]).flops == expected
    assert worked("aten::_int_mm", [3, 4], [4, 5], type="signed char").flops == expected


def test_batches_multiply_the_operations() -> None:
    assert worked("aten::bmm", [7, 3, 4], [7, 4, 5]).flops == 7 * 120
    assert worked("aten::baddbmm", [7, 3, 5], [7, 3, 4], [7, 4, 5], None, None).flops == 7 * 120
    assert worked("aten::addbmm", [3, 5], [7, 3, 4], [7, 4, 5], None, None).flops == 7 * 120
    assert worked("aten::linear", [7, 3, 4], [5, 4], None).flops == 7 * 120


def test_the_batch_of_matmul_is_expanded() -> None:
    assert worked("aten::matmul", [2, 1, 3, 4], [6, 4, 5]).flops == 12 * 120
    assert worked("aten::matmul", [3, 4], [4]).flops == 24
    assert worked("aten::matmul", [4], [4, 5]).flops == 40


def test_vectors_are_matrices_of_one_row_or_column() -> None:
    assert worked("aten::mv", [3, 4], [4]).flops == _multiplied(_matrix(3, 4), _matrix(4, 1)) == 24
    assert worked("aten::addmv", [3], [3, 4], [4], None, None).flops == 24
    assert worked("aten::dot", [9], [9]).flops == _multiplied(_matrix(1, 9), _matrix(9, 1)) == 18


def test_rows_of_groups_are_multiplied_once_each() -> None:
    # 10 rows of 4 columns, whatever group they are in, each times a matrix of 4 by 5
    assert worked("aten::_grouped_mm", [10, 4], [3, 4, 5], [3], type="c10::BFloat16").flops == 2 * 10 * 4 * 5
    scaled = worked("aten::_scaled_grouped_mm", [10, 4], [3, 4, 5], [3], type="c10::Float8_e4m3fn")
    assert (scaled.flops, scaled.bytes) == (2 * 10 * 4 * 5, None)  # its result is wider, and nothing says how wide


def test_a_scaled_product_tells_the_type_of_its_result_by_number() -> None:
    values = ["", "", "", "", "", "", "15", "False"]
    done = worked(
        "aten::_scaled_mm", [16, 32], [32, 8], [], [], None, None, None, None,
        types=["c10::Float8_e4m3fn", "c10::Float8_e4m3fn", "float", "float", "", "", "Scalar", "Scalar"], values=values,
    )  # fmt: skip
    assert done.flops == 2 * 16 * 32 * 8
    assert done.type == "fp8"
    assert done.bytes == 16 * 32 + 32 * 8 + 4 + 4 + 2 * 16 * 8


def test_an_equation_of_two_operands_counts_every_combination_of_indices() -> None:
    done = worked("aten::einsum", None, [[2, 3, 4], [2, 4, 5]], None, values=["bij,bjk->bik", ""])
    assert done.flops == 2 * 2 * 3 * 4 * 5
    for equation in ("", "bij,bjk", "...ij,...jk->...ik", "bij->bij", "ij,jk->ik", "bij,bjk->bil"):
        unknown = worked("aten::einsum", None, [[2, 3, 4], [2, 4, 5]], None, values=[equation, ""])
        assert unknown.flops is None
        assert unknown.missing in ("no equation of two operands recorded", "the equation does not fit the shapes")


def test_bytes_are_those_of_operands_and_result_once_each() -> None:
    done = worked("aten::addmm", [5], [3, 4], [4, 5], None, None, type="c10::BFloat16")
    assert done.bytes == 2 * (5 + 12 + 20 + 15)
    assert done.result is not None
    assert done.result.shape == (3, 5)


def test_a_dimension_of_stride_0_is_in_memory_once() -> None:
    done = worked("aten::mm", [3, 4], [4, 5], strides=[[0, 1], [5, 1]])
    assert done.bytes == 4 * (4 + 20 + 15)
    assert done.flops == 120


@pytest.mark.parametrize(
    ("name", "operands"),
    [
        ("aten::mm", ([3, 4], [5, 6])),
        ("aten::mm", ([3, 4], [4, 5, 6])),
        ("aten::bmm", ([2, 3, 4], [3, 4, 5])),
        ("aten::matmul", ([2, 3, 4], [3, 4, 5])),
        ("aten::matmul", ([], [4])),
        ("aten::_grouped_mm", ([10, 4], [3, 5, 5])),
        ("aten::mm", ([3, 4],)),
    ],
)
def test_shapes_that_do_not_fit_are_not_counted(name: str, operands: tuple[list[int], ...]) -> None:
    done = worked(name, *operands)
    assert done.flops is None
    assert done.missing
