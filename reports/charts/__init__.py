"""Charts of reports as Vega-Lite specifications, one file a kind: few marks, units on every axis, readable in grey.

Builders take rows as SQL returns them, pick the unit of time by the largest value, and aggregate what is too much to
draw. `usermeta.terminal` in a specification holds what a terminal can show of it: durations in ns, or values of its
`unit`, with labels if they are bars.
"""
