"""Readers, one file per input format: the file's name is the format's name."""
