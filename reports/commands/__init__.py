"""Verbs of the command line, one file each: the file's name is the verb, `command` its click command."""
