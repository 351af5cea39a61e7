"""What privgmm raises and warns: one sentence that says what to do, never a record's value."""

from __future__ import annotations

from collections.abc import Sequence

# At most this many columns are named in a sentence.
_LISTED = 10


class InputError(ValueError):
    """The input cannot be used as it is; the message is one sentence that says what to do."""


class ColumnsError(InputError):
    """Something is wrong with some columns; ``named`` gives the same error with their names.

    ``sentence`` contains {columns}, which is replaced by the ``positions`` where no names are known.
    """

    def __init__(self, sentence: str, positions: Sequence[int]) -> None:
        self.sentence, self.positions = sentence, tuple(positions)
        super().__init__(self._with([f"number {j + 1}" for j in self.positions]))

    def named(self, names: Sequence[str]) -> InputError:
        """The same sentence with names; ``names`` are those of all columns."""
        return InputError(self._with([repr(names[j]) for j in self.positions]))

    def _with(self, words: list[str]) -> str:
        more = f" and {len(words) - _LISTED} more" if len(words) > _LISTED else ""
        return self.sentence.format(columns=", ".join(words[:_LISTED]) + more)


class BudgetError(InputError):
    """The privacy budget does not allow what was asked."""


class CautionWarning(UserWarning):
    """Something to think about before a release is made or published; nothing is wrong with it."""


class PrivacyLeakWarning(UserWarning):
    """Something that should be public was read from private data."""


class RefitWarning(UserWarning):
    """Private rows were fitted again in this process and no ledger adds up what that costs."""
