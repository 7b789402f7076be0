"""Sections of reports, one file each: `section(trace, ask)` builds it from the findings it asks for."""
