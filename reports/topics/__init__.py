"""Report topics, one file each: what goes into a report."""
