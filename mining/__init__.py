"""Finds things in the events of a trace: iterations, patterns, idle time. Prints nothing, draws nothing."""
