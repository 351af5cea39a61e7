"""What stands on the disk is not what was written there: torn and rotten ledgers, leftovers of others."""

from __future__ import annotations

from pathlib import Path
from random import Random

from privgmm import InputError
from privgmm.ledger import Ledger

from .actions import Action
from .child import Outcome, outcome_of
from .faults import ending
from .properties import KEPT, SENTENCE, Verdict
from .trial import World, choose_action, run_trial

_PAGE = 4096


def damaged_ledger(world: World, rng: Random) -> tuple[Verdict, str]:
    """A ledger that was truncated, overwritten in part, or in which bits flipped.

    It may be refused in one sentence, or open with every spend as it was; never with fewer or others.
    """
    path, verdict = world.scratch / "damaged.db", Verdict()
    whole = (world.template / "l.db").read_bytes()
    path.write_bytes(_spoiled(whole, rng))
    try:
        rows = Ledger.open(path).rows()
    except InputError as refusal:
        text = str(refusal)
        verdict.check(SENTENCE, text.endswith(".") and "\n" not in text, text)
        return verdict, "refused"
    except Exception as problem:
        verdict.check(SENTENCE, False, repr(problem))
        return verdict, "refused"
    finally:
        for end in ("", "-wal", "-shm", "-journal"):
            path.with_name(path.name + end).unlink(missing_ok=True)
    expected = Ledger(world.template / "l.db").rows()
    verdict.check(KEPT, rows == expected, f"{len(rows)} rows, not the {len(expected)} that were")
    return verdict, "finished"


def _spoiled(whole: bytes, rng: Random) -> bytes:
    how, size = rng.randrange(5), len(whole)
    if how == 0:
        return whole[: rng.randrange(size)]
    if how == 1:
        return whole[: _PAGE * rng.randrange(size // _PAGE)]
    # Mostly where something stands; a ledger's pages are half empty.
    at = rng.choice([place for place, byte in enumerate(whole) if byte] or [0])
    if how == 2:
        return whole[:at] + bytes([whole[at] ^ 1 << rng.randrange(8)]) + whole[at + 1 :]
    length = min(rng.choice([1, 16, 512, _PAGE]), size - at)
    filler = bytes(length) if how == 3 else rng.randbytes(length)
    return whole[:at] + filler + whole[at + length :]


def leftovers(world: World, rng: Random) -> tuple[Verdict, str]:
    """Stale locks and temporary files of processes that died, or garbage under their names."""
    action = choose_action(rng)
    folder = world.fresh(action, old=rng.random() < 0.5)

    def hurt(place: Path) -> Outcome:
        for name in _stale_names(action):
            if rng.random() < 0.5:
                (place / name).write_bytes(rng.randbytes(rng.choice([0, 40, 5000])))
                (place / name).chmod(0o600)
        return outcome_of(place, action.arguments, lambda: None, lambda: 0)

    verdict, outcome = run_trial(world, action, folder, hurt)
    world.forget(folder)
    return verdict, ending(outcome)


def _stale_names(action: Action) -> list[str]:
    names = [f"{action.ledger}{end}" for end in ("-wal", "-shm", "-journal")]
    if action.output not in (None, action.ledger):
        names.append(f".{action.output}.0123456789abcdef.part")
    return names
