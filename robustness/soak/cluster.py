"""Dask workers that die in the middle of a release."""

from __future__ import annotations

import asyncio
import functools
import logging
import os
import signal
import threading
import time
from random import Random

import numpy as np

from privgmm import release
from privgmm.datasets import synthetic
from privgmm.errors import InputError
from privgmm.ledger import Ledger

from .actions import DELTA
from .properties import KEPT, NEXT, PAID, SENTENCE, Verdict
from .trial import World


@functools.cache
def _client():
    """One small cluster for the whole soak; its nannies start a worker anew when it dies."""
    from distributed import Client, LocalCluster

    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=logging.CRITICAL
    )
    return Client(cluster)


def close() -> None:
    if _client.cache_info().currsize:
        client = _client()
        cluster = client.cluster
        client.close()
        cluster.close()
        _client.cache_clear()


@functools.cache
def _table():
    return synthetic(4000, 2, 2, seed=1)


def _released(ledger, client=None):
    X, y = _table()
    return release(
        X, y, 0.1, DELTA, "record", radius=25.0, classes=[0, 1], seed=5, ledger=ledger, client=client
    )  # fmt: skip


@functools.cache
def _expected() -> bytes:
    mixture = _released(None).mixture
    return b"".join(part.tobytes() for part in (mixture.weights, mixture.means))


def dying_worker(world: World, rng: Random) -> tuple[Verdict, str]:
    """Kill a worker at a random time; the release must have the bits of one process alone."""
    client, verdict = _client(), Verdict()
    path = world.scratch / "dask.db"
    path.unlink(missing_ok=True)
    ledger = Ledger.create(path, 5.0, 1e-3, "record")
    _expected()
    pids = list(client.run(os.getpid).values())
    killer = threading.Thread(target=_kill_later, args=(rng.choice(pids), rng.random() * 0.5))
    killer.start()
    end, mixture = "finished", None
    try:
        mixture = _released(path, client).mixture
    except InputError as refusal:
        end = "refused"
        verdict.check(SENTENCE, str(refusal).endswith("."), refusal)
    # Dask's cancellations are no Exceptions, so that nothing short of this catches them.
    except (Exception, asyncio.CancelledError) as problem:
        end = "refused"
        verdict.check(SENTENCE, False, repr(problem))
    killer.join()
    rows = ledger.rows()
    if mixture is not None:
        found = b"".join(part.tobytes() for part in (mixture.weights, mixture.means))
        verdict.check(KEPT, found == _expected(), "the release has other bits")
        verdict.check(PAID, len(rows) == 1, f"{len(rows)} spends")
    verdict.check(
        NEXT, bool(np.isfinite(_released(path, client).mixture.means).all()), "no release"
    )
    try:
        client.wait_for_workers(2, timeout=10)
    except TimeoutError:
        # Whether a dead worker is started anew is Dask's affair; the next fault gets a new cluster.
        close()
    return verdict, end


def _kill_later(pid: int, seconds: float) -> None:
    time.sleep(seconds)
    os.kill(pid, signal.SIGKILL)
