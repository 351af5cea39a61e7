"""Benchmarks: ``python -m bench`` measures privgmm and its peers in one run, as ratios."""
