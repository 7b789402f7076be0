"""The thresholds of the advice on managed memory, read from the one file that documents them."""

from collections.abc import Mapping
from pathlib import Path

from .thresholds import thresholds

__all__ = ["RULES", "uvm_rules"]

RULES = Path(__file__).parent / "uvm.toml"


def uvm_rules(section: str) -> Mapping[str, float]:
    """The thresholds of a section of mining/uvm.toml by name."""
    return thresholds(section, RULES)
