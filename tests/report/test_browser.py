"""The report in a real browser: hostile names do not run, nothing is fetched, nothing sticks out.

Needs Chromium (Debian's ``chromium``). With PRIVGMM_BROWSER_TESTS=1 a missing browser is a failure.
"""

from __future__ import annotations

import http.server
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from privgmm.releases import Release
from privgmm.report import render

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
REQUIRED = os.environ.get("PRIVGMM_BROWSER_TESTS") == "1"
pytestmark = pytest.mark.skipif(
    BROWSER is None and not REQUIRED, reason="chromium is not installed here"
)
CSP = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>')
# Writes what scripts can see of the page into the title, which --dump-dom then shows.
PROBE = """<script>window.addEventListener('load', () => {
  const wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
  document.title = `probe wide=${wide} svgs=${document.querySelectorAll('svg').length}`
    + ` bad=${document.querySelectorAll('[onerror],[onload],[onmouseover],img').length}`;
});</script>"""


def browse(page: Path, profile: Path, *options: str, width: int = 1200) -> str:
    assert BROWSER is not None, "PRIVGMM_BROWSER_TESTS=1 but chromium is not on PATH; install it."
    done = subprocess.run(
        [
            BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic",
            "--no-first-run", "--disable-background-networking", "--disable-component-update",
            "--disable-sync", f"--user-data-dir={profile}", f"--window-size={width},1000",
            *options, page.as_uri(),
        ],
        capture_output=True, timeout=120, check=True,
    )  # fmt: skip
    return done.stdout.decode("utf-8", errors="replace")


def title(dom: str) -> str:
    found = re.search(r"<title>(.*?)</title>", dom, re.DOTALL)
    assert found is not None
    return found.group(1)


def probed(text: str, tmp_path: Path, width: int) -> str:
    """The title that the probe leaves; the page's own policy would forbid the probe too."""
    page = tmp_path / "probe.html"
    page.write_text(CSP.sub("", text).replace("</head>", PROBE + "</head>"), "utf-8")
    return title(browse(page, tmp_path / "profile", "--dump-dom", width=width))


def test_hostile_names_do_not_run(hostile_release: Release, tmp_path: Path) -> None:
    text = render(hostile_release)
    page = tmp_path / "report.html"
    # Without the policy, so that escaping alone is what keeps the names from running.
    page.write_text(CSP.sub("", text), "utf-8")
    dom = browse(page, tmp_path / "profile", "--dump-dom")
    assert title(dom).startswith("Release report: 12 classes, 7 columns")
    assert "<script" not in dom
    assert "pwned" in dom  # the name is there, as text


@pytest.mark.slow
def test_the_test_above_can_fail(hostile_release: Release, tmp_path: Path) -> None:
    """The same browser runs a name that was not escaped, and the policy stops even that."""
    text = render(hostile_release).replace(
        "&lt;script&gt;document.title=&#39;pwned&#39;&lt;/script&gt;",
        "<script>document.title='pwned'</script>",
    )
    page = tmp_path / "report.html"
    page.write_text(CSP.sub("", text), "utf-8")
    assert title(browse(page, tmp_path / "profile", "--dump-dom")) == "pwned"
    page.write_text(text, "utf-8")
    assert title(browse(page, tmp_path / "profile", "--dump-dom")) != "pwned"


@pytest.mark.slow
@pytest.mark.parametrize("width", [1200, 390])
def test_a_private_page_of_hostile_names_fits_its_window(
    hostile_release: Release, tmp_path: Path, width: int
) -> None:
    X, y = hostile_release.mixture.means, list(hostile_release.mixture.classes)
    text = render(hostile_release, (X[:3], y[:3]))
    assert probed(text, tmp_path, width) == "probe wide=0 svgs=106 bad=0"


def test_a_large_page_fits_a_phone(make_release: Any, tmp_path: Path) -> None:
    text = render(make_release(30, 60))
    assert probed(text, tmp_path, 390) == "probe wide=0 svgs=135 bad=0"


class Listener(http.server.BaseHTTPRequestHandler):
    seen: list[str]

    def do_GET(self) -> None:
        self.server.seen.append(self.path)  # type: ignore[attr-defined]  # set in the fixture
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Quiet."""


@pytest.fixture
def listener() -> Iterator[http.server.HTTPServer]:
    server = http.server.HTTPServer(("127.0.0.1", 0), Listener)
    server.seen = []  # type: ignore[attr-defined]  # where the handler notes what was asked
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


def test_names_that_point_elsewhere_fetch_nothing(
    make_release: Any, tmp_path: Path, listener: Any
) -> None:
    address = f"http://127.0.0.1:{listener.server_port}"
    names = [f"<img src={address}/a>", f"url({address}/b)", f"@import '{address}/c';"]
    page = tmp_path / "report.html"
    page.write_text(CSP.sub("", render(make_release(3, 3, names, names))), "utf-8")
    browse(page, tmp_path / "profile", "--dump-dom")
    assert listener.seen == []
    page.write_text(f"<img src={address}/seen>", "utf-8")
    browse(page, tmp_path / "profile", "--dump-dom")
    assert listener.seen == ["/seen"]


def test_it_prints(make_release: Any, tmp_path: Path) -> None:
    page, pdf = tmp_path / "report.html", tmp_path / "report.pdf"
    page.write_text(render(make_release()), "utf-8")
    browse(page, tmp_path / "profile", f"--print-to-pdf={pdf}", "--no-pdf-header-footer")
    assert pdf.read_bytes().startswith(b"%PDF")
    assert pdf.stat().st_size > 20_000
