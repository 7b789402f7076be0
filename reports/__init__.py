"""Shows findings: reports, their formats, and the command line."""
