"""docs/results.md, the one table of numbers behind it, and the blocks of other pages that quote it."""
