"""Other makers of private synthetic rows, each in an environment of its own, scored like ``bench.synthetic``."""
