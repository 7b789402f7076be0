"""Who asked for memory, as SQL: phase, module, operator, owner, and the line of the stack nearest to the program."""

__all__ = ["WHO"]

SITE = """coalesce(
        list_filter(
            string_split(stack, chr(10)), lambda line: line like '%.py%' and line not like '%/torch/%'
        )[1],
        list_filter(
            string_split(stack, chr(10)),
            lambda line: line != ''
                and not regexp_matches(line, 'alloc|unwind|Traceback|gather_with_|empty_(generic|cuda)|[?]:0$')
        )[1],
        nullif(string_split(stack, chr(10))[1], '')
    )"""
"""SQL: of a stack the first line of Python outside PyTorch, else the first not of the allocator or the recorder, else
the first; null without a stack."""

WHO = f"""phase,
        module,
        operator,
        owner,
        {SITE} as site,
        min(stack) as stack"""
"""SQL: the columns on who asked for memory, of allocations that are grouped by all but the last."""
