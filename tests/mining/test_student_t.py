import pytest

from tracelode.mining.student_t import cumulative, quantile


@pytest.mark.parametrize(
    ("probability", "degrees", "value"),
    [
        (0.995, 1, 63.6567),
        (0.995, 7, 3.4995),
        (0.95, 19, 1.7291),
        (0.975, 2, 4.3027),
        (0.99, 100, 2.3642),
        (0.995, 1_000_000, 2.5758),
    ],
)
def test_quantiles_are_those_of_the_tables(probability: float, degrees: float, value: float) -> None:
    assert quantile(probability, degrees) == pytest.approx(value, abs=5e-5)
    assert quantile(1 - probability, degrees) == pytest.approx(-value, abs=5e-5)


@pytest.mark.parametrize("degrees", [1, 2, 3.5, 8, 40])
def test_the_probability_of_a_quantile_is_the_one_asked_for(degrees: float) -> None:
    for probability in (0.001, 0.1, 0.4999, 0.5, 0.9, 0.99999):
        assert cumulative(quantile(probability, degrees), degrees) == pytest.approx(probability, rel=1e-9)


def test_two_degrees_of_freedom_have_a_closed_form() -> None:
    for t in (-3.0, -0.2, 0.0, 1.5, 30.0):
        assert cumulative(t, 2) == pytest.approx(0.5 + t / (2 * (2 + t * t) ** 0.5), rel=1e-12)
