"""What the soak prints."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field

from .properties import Verdict

_ENDINGS = ("killed", "interrupted", "refused", "finished")
_SHOWN = 20


@dataclass
class Tally:
    """Counts by kind of fault and by property."""

    faults: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    checked: Counter[str] = field(default_factory=Counter)
    broken: Counter[str] = field(default_factory=Counter)
    wrong: int = 0

    def add(self, name: str, number: int, verdict: Verdict, end: str) -> None:
        self.faults[name].update(["injected", end])
        self.checked.update(verdict.checked)
        for held, sentence in verdict.wrong:
            self.broken[held] += 1
            self.faults[name]["violations"] += 1
            self.wrong += 1
            if self.wrong <= _SHOWN:
                print(f"fault {number} ({name}): not '{held}': {sentence}", flush=True)

    @property
    def injected(self) -> int:
        return sum(counts["injected"] for counts in self.faults.values())

    def line(self) -> str:
        return f"{self.injected} faults, {self.wrong} violations"


def print_tables(tally: Tally, seconds: float, seed: int) -> None:
    print(f"\n{'fault':34}{'injected':>9}" + "".join(f"{end:>12}" for end in _ENDINGS), end="")
    print(f"{'violations':>11}")
    for name, counts in tally.faults.items():
        cells = "".join(f"{counts[end]:>12}" for end in _ENDINGS)
        print(f"{name:34}{counts['injected']:>9}{cells}{counts['violations']:>11}")
    print(f"\n{'property':55}{'checks':>9}{'violations':>11}")
    for name, count in tally.checked.items():
        print(f"{name:55}{count:>9}{tally.broken[name]:>11}")
    print(f"\n{tally.line()}, {seconds:.0f} s, seed {seed}")
