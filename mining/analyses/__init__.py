"""Analyses of one trace, one file each: the file's name is the analysis' name."""
