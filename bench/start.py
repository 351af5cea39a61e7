"""What a user waits for before anything happens: the import and the help page."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

from bench.measure import Row, row, together


def rows(full: bool = False) -> list[Row]:
    times = 9 if full else 5
    ours, peer = together(_python("import privgmm"), _python("import numpy, scipy"), times)
    note = f"{ours - peer:+.2f} s; at most +0.50 s is asked for"
    out = [row("import privgmm", ours, "import numpy, scipy", peer, note=note)]
    page = "from privgmm.cli import run; run(['--help'])"
    ours, peer = together(_python(page), _python("pass"), times)
    return [*out, row("privgmm --help", ours, "python -c pass", peer)]


def _python(code: str) -> Callable[[], object]:
    return lambda: subprocess.run(
        [sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL
    )
