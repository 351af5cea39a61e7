"""Property-based tests draw the same examples in every run and never fail for being slow."""

from hypothesis import Phase, settings

settings.register_profile("repeatable", derandomize=True, deadline=None, print_blob=True)
# For mutants, whose first failing example is enough.
settings.register_profile(
    "first failure", settings.get_profile("repeatable"), phases=(Phase.explicit, Phase.generate)
)
settings.load_profile("repeatable")
