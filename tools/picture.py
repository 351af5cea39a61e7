"""Make the README's picture of a report: ``python tools/picture.py`` (needs Chromium)."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

PICTURE = Path(__file__).parents[1] / "docs" / "figures" / "report.png"
# The top of the page: promise, budget and weights.
WIDTH, HEIGHT = 1000, 1250
COLOURS = 64  # the page has few; the file stays below 50 kB


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        demo, shot = Path(folder) / "demo", Path(folder) / "report.png"
        subprocess.run([sys.executable, "-m", "privgmm", "demo", "--out", str(demo)], check=True)
        browser = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
        words = [f"--window-size={WIDTH},{HEIGHT}", f"--screenshot={shot}"]
        page = (demo / "report.html").resolve().as_uri()
        subprocess.run([*browser, *words, page], check=True, timeout=120, capture_output=True)
        picture = Image.open(shot).convert("RGB").crop((0, 0, WIDTH, HEIGHT))
        picture.quantize(COLOURS, dither=Image.Dither.NONE).save(PICTURE, optimize=True)


if __name__ == "__main__":
    main()
