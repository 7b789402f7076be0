"""The thresholds of the advice on managed memory, read from the one file that documents them."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from .thresholds import read_thresholds

__all__ = ["RULES", "uvm_rules"]

RULES = Path(__file__).parent / "uvm.toml"


@cache
def uvm_rules(section: str) -> Mapping[str, float]:
    """The thresholds of a section of mining/uvm.toml by name; read and checked once."""
    return read_thresholds(RULES)[section]
