"""What privgmm raises and warns: one sentence that says what to do, never a record's value."""


class InputError(ValueError):
    """The input cannot be used as it is; the message is one sentence that says what to do."""


class BudgetError(InputError):
    """The privacy budget does not allow what was asked."""


class PrivacyLeakWarning(UserWarning):
    """Something that should be public was read from private data."""
