"""Brings events in: readers for trace files, and the collectors that record them."""
