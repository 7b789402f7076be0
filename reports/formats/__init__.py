"""Report formats, one file each: how a report looks."""
