"""Hostile input by the hundred thousand: every one gives a result or one sentence (make fuzz)."""
