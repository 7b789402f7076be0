"""Diagnoses of one trace, one file each: what costs a device time, in words, with a bound on what it costs."""
