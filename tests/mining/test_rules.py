from pathlib import Path

import pytest

from tracelode.mining.rules import Operation, Rule, read_rules, stretches
from tracelode.store import Error

RULES = read_rules()
BACKWARD = frozenset({"autograd::engine::evaluate_function: AddmmBackward0", "AddmmBackward0", "aten::mm"})

ITERATION = [
    Operation("copy HtoD"),
    Operation("sm90_xmma_gemm_tn"),
    Operation("fill", BACKWARD),
    Operation("sm90_xmma_gemm_nn", BACKWARD),
    Operation("cublasLt::splitKreduce_kernel", BACKWARD),
    Operation("ncclDevKernel_AllReduce_Sum_bf16", frozenset({"c10d::allreduce_"})),
    Operation("embedding_back", BACKWARD),
    Operation("ncclDevKernel_AllReduce_Sum_f32"),
    Operation("norm", frozenset({"torch::nn::utils::clip_grad_norm_"})),
    Operation("multi_tensor_apply", frozenset({"Optimizer.step#AdamW.step", "aten::_foreach_add_"})),
    Operation("copy DtoH"),
]

EXPECTED = {
    "backward": [(2, 4, None), (6, 6, None)],
    "forward": [(0, 1, None)],
    "optimizer": [(9, 9, True)],
    "gradient_clipping": [(8, 8, True)],
    "gradient_bucket": [(5, 5, None)],
    "cleared_product": [(2, 3, None)],
    "split_product": [(3, 4, None)],
    "input_copy": [(0, 0, None)],
    "value_read": [(10, 10, None)],
}


def _of(rules: tuple[Rule, ...], name: str) -> list[tuple[int, int, bool | None]]:
    return [(one.first, one.last, one.in_order) for one in stretches(rules, ITERATION) if one.rule == name]


def test_every_rule_of_the_file_is_tested() -> None:
    assert [rule.name for rule in RULES] == list(EXPECTED)
    assert all(rule.enabled and rule.label for rule in RULES)


@pytest.mark.parametrize("name", EXPECTED)
def test_a_rule_names_what_it_is_about_and_nothing_else(name: str) -> None:
    assert _of(RULES, name) == EXPECTED[name]


@pytest.mark.parametrize("name", EXPECTED)
def test_a_rule_that_is_not_enabled_leaves_out_its_own_label_alone(name: str) -> None:
    without = tuple(Rule(**{**vars(rule), "enabled": rule.name != name}) for rule in RULES)
    assert stretches(without, ITERATION) == [one for one in stretches(RULES, ITERATION) if one.rule != name]


def test_an_optimizer_ahead_of_the_backward_pass_is_unusual() -> None:
    turned = [ITERATION[9], *ITERATION[:9]]
    (found,) = [one for one in stretches(RULES, turned) if one.rule == "optimizer"]
    assert (found.first, found.in_order) == (0, False)


def test_nothing_is_named_in_an_iteration_without_operations() -> None:
    assert stretches(RULES, []) == []


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[[rule]]\nname = 'a'\nlabel = 'x'\nenabled = true", "none or several of names, span and before"),
        ("[[rule]]\nname = 'a'\nlabel = 'x'\nenabled = true\nspan = '('", "unterminated"),
        ("[[rule]]\nname = 'a'\nlabel = 'x'\nenabled = true\nbefore = 'b'", "no rule 'b' above it"),
        ("[[rule]]\nname = 'a'\nlabel = 'x'\nenabled = 1\nspan = 'x'", "name, label or enabled"),
        ("[[rule]]\nname = 'a'\nlabel = 1\nenabled = true\nspan = 'x'", "no text"),
        ("[[rule]]\nname = 'a'\nlabel = 'x'\nenabled = true\nspan = 'x'\nelse = 'y'", "else"),
        ("[[rule]", "rules.toml"),
    ],
)
def test_a_rule_that_is_none_is_refused_with_its_name(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "rules.toml"
    path.write_text(text)
    with pytest.raises(Error, match=why):
        read_rules(path)
