from tracelode.mining.setups import Setup, best


def _setup(name: str, median_ns: int, mad_ns: int = 1_000, iterations: int = 100) -> Setup:
    return Setup(name, "NVIDIA H100", 1, iterations, median_ns, mad_ns, 60)


def test_fewer_than_two_measurements_are_insufficient_data() -> None:
    assert best([]) == "insufficient data"
    assert best([_setup("a", 1_000_000)]) == "insufficient data"


def test_the_error_of_a_median_is_that_of_normally_distributed_values() -> None:
    # 1.2533 * 1.4826 * 1000 / sqrt(100)
    assert round(_setup("a", 1_000_000).error_ns, 1) == 185.8


def test_the_quickest_is_named_with_what_it_gains() -> None:
    assert best([_setup("small batch", 2_000_000), _setup("large batch", 1_500_000)]) == (
        "large batch is the quickest set-up: the median iteration takes 500 µs (25.0 %) less than with small batch; "
        "large batch (NVIDIA H100): 1.5 ms ± 186 ns; small batch (NVIDIA H100): 2 ms ± 186 ns."
    )


def test_a_difference_within_the_spread_is_none() -> None:
    loose = [_setup("a", 1_000_000, 300_000, 25), _setup("b", 1_200_000, 300_000, 25)]
    assert best(loose).startswith("No set-up is quicker by more than chance and 3%: the median iteration takes a ")


def test_a_difference_of_three_percent_is_none() -> None:
    assert best([_setup("a", 1_000_000), _setup("b", 1_030_000)]).startswith("No set-up is quicker ")
