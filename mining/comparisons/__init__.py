"""Comparisons of traces or runs, one file each."""
