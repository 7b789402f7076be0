"""Which of the mined levels stands for the iterations of a process."""

__all__ = ["MAIN"]

MAIN = """
    select process, level, device, period, confidence, phase_confidence, coverage
    from level
    where kind = 'iteration'
    qualify row_number() over (partition by process order by count * period desc, level) = 1
"""
"""SQL: for each process its iteration level that covers the most operations."""
