"""Forms of export, one file each: what a trace is written as for other tools.

A form is a module with `SUFFIXES` (endings of its files), `FOLDER` (whether it writes a folder where a place has none
of them), `NEEDS` (analyses that are run before), and `write(trace, path, tables)`, which writes what it can of those
tables, of all when none is named, and returns remarks on what it left out. The path is a temporary one with the wanted
ending, or an empty folder: `export_file.whole` renames it.
"""
