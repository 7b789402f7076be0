from pathlib import Path

import pytest

from tracelode.mining.device_peaks import PACKAGED, TYPES, VARIABLE, peaks_of, read_peaks
from tracelode.store import Error

ROWS = read_peaks(str(PACKAGED))
DOCS = Path(__file__).parents[2] / "docs" / "flops.md"


def test_each_packaged_row_is_sourced_and_of_a_plausible_size() -> None:
    assert len(ROWS) >= 40
    assert len({row.product for row in ROWS}) == len(ROWS)
    for row in ROWS:
        assert len(row.source) > 10, row.product
        assert row.vector["fp32"] >= 8e12, row.product
        assert row.bandwidth is None or 3e11 <= row.bandwidth <= 8e12, row.product
        rates = [row.tensor[type] for type in ("fp64", "tf32", "bf16", "fp8") if type in row.tensor]
        assert rates == sorted(rates), row.product  # the fewer bits, the faster


@pytest.mark.parametrize(
    ("name", "arithmetic", "rate", "bandwidth"),
    [
        ("NVIDIA H100 80GB HBM3", "bf16", 989.4e12, 3350e9),
        ("NVIDIA H100 PCIe", "fp16", 756.5e12, 2000e9),
        ("NVIDIA GH200 480GB", "fp64", 67e12, 4000e9),
        ("NVIDIA A100-SXM4-80GB", "tf32", 156e12, 2039e9),
        ("Tesla V100-SXM2-32GB", "fp32", 15.7e12, 900e9),
        ("Tesla P100-PCIE-12GB", "fp16", 18.7e12, 549e9),
        ("Tesla T4", "int8", 130e12, 320e9),
        ("NVIDIA B200", "fp8", 4500e12, 8000e9),
        ("AMD Instinct MI300X VF", "fp32", 163.4e12, 5300e9),
        ("AMD Instinct MI210", "fp32", 45.3e12, 1638.4e9),
        ("AMD Instinct MI210", "vector fp32", 22.6e12, 1638.4e9),
        ("AMD Instinct MI250X", "bf16", 191.5e12, 1638.4e9),
    ],
)
def test_a_device_is_found_by_its_name(name: str, arithmetic: str, rate: float, bandwidth: float) -> None:
    peaks = peaks_of(name)
    assert peaks is not None
    assert peaks.of(arithmetic) == pytest.approx(rate)
    assert peaks.bandwidth == pytest.approx(bandwidth)


def test_memory_tells_devices_of_one_name_apart() -> None:
    small, large = peaks_of("NVIDIA A100-PG509-200", 42_505_273_344), peaks_of("NVIDIA A100-PG509-200", 85_000_000_000)
    assert small is not None
    assert small.bandwidth == 1555e9
    assert large is not None
    assert large.bandwidth is None
    assert large.of("bf16") == 312e12


def test_a_smaller_device_of_the_same_name_has_not_its_peaks() -> None:
    # GeForce RTX 3060 is sold with 12 GB at 360 GB/s and with 8 GB at 240 GB/s
    large = peaks_of("NVIDIA GeForce RTX 3060", 12_622_823_424)
    assert large is not None
    assert large.bandwidth == 360e9
    assert peaks_of("NVIDIA GeForce RTX 3060", 8_585_740_288) is None
    assert peaks_of("NVIDIA GeForce RTX 3060") is None


def test_the_page_lists_the_packaged_rows_and_no_others() -> None:
    told = [
        f"| {row.product} | {row.vector['fp32'] / 1e12:g} | "
        f"{', '.join(f'{type} {rate / 1e12:g}' for type, rate in row.tensor.items()) or '–'} | "
        f"{'–' if row.bandwidth is None else f'{row.bandwidth / 1e9:g}'} | {row.source} |"
        for row in ROWS
    ]
    page = DOCS.read_text().partition("## Peaks of devices")[2]
    assert [line for line in page.splitlines() if line.startswith(("| NVIDIA", "| AMD"))] == told


@pytest.mark.parametrize(
    "name",
    [None, "", "AMD Radeon Graphics", "NVIDIA GeForce RTX 3080 Ti", "NVIDIA GeForce RTX 4090 D", "NVIDIA B300", "Xeon"],
)
def test_what_is_not_known_has_no_peaks(name: str | None) -> None:
    assert peaks_of(name) is None


def test_an_arithmetic_that_a_device_lacks_has_no_peak() -> None:
    peaks = peaks_of("Tesla V100-SXM2-16GB")
    assert peaks is not None
    assert [peaks.of(one) for one in ("bf16", "fp8", "tf32", "vector fp8", "int64")] == [None] * 5
    assert all(one in TYPES for one in peaks.vector)


OWN = """
[[device]]
product = "mine"
patterns = ['H100']
tensor = { bf16 = 1 }
bandwidth = 2
source = "measured"
"""


def test_rows_of_the_user_come_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "peaks.toml"
    path.write_text(OWN)
    monkeypatch.setenv(VARIABLE, str(path))
    peaks = peaks_of("NVIDIA H100 80GB HBM3")
    assert peaks is not None
    assert (peaks.product, peaks.of("bf16"), peaks.bandwidth) == ("mine", 1e12, 2e9)
    other = peaks_of("NVIDIA L4")
    assert other is not None
    assert other.product == "NVIDIA L4"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("x = [", "is not TOML"),
        ("", "holds nothing, not a list of [[device]]"),
        ("device = 3", "holds device, not a list of [[device]]"),
        (OWN.replace("source", "sauce"), "device 1: has not product, patterns and source"),
        (OWN.replace('"mine"', "3"), "product or source is no text"),
        (OWN.replace("['H100']", "'H100'"), "patterns is not a list of strings"),
        (OWN.replace("'H100'", "'('"), "pattern '(': missing )"),
        (OWN.replace("'H100'", "'x|'"), "matches every name"),
        (OWN.replace("bandwidth = 2", "bandwidth = -2"), "bandwidth -2 is no positive number"),
        (OWN.replace("bf16 = 1", "bf16 = true"), "bf16 = True is no positive TFLOP/s"),
        (OWN.replace("bf16 = 1", "bf17 = 1"), "bf17 = 1 is no positive TFLOP/s"),
        (OWN.replace("{ bf16 = 1 }", "[1]"), "tensor is no table of TFLOP/s"),
    ],
)
def test_a_file_that_is_none_is_refused_with_its_place(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "peaks.toml"
    path.write_text(text)
    with pytest.raises(Error) as caught:
        read_peaks(str(path))
    assert str(path) in caught.value.message
    assert why in caught.value.message
    with pytest.raises(Error, match="No such file"):
        read_peaks(str(tmp_path / "none"))
