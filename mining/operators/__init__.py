"""What operators of frameworks compute and move, by family: one file each, a kind of operator with its formula."""
