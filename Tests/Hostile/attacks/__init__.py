"""The library of attacks. Each is a function with one sentence: what it tries, and what must be true afterwards."""

import importlib
import pkgutil
from dataclasses import dataclass
from typing import Callable, Optional

ATTACKS = {}


@dataclass
class Attack:
    name: str
    run: Callable
    sentence: str
    covers: tuple
    expected_failure: Optional[str] = None
    alone: bool = False
    slower: Optional[float] = None
    reason: Optional[str] = None


def attack(*covers, expected_failure=None, alone=False, slower=None, reason=None):
    """Registers an attack.

    `covers` are the fields that it forges, as `peer.fields` names them. `expected_failure` says why it is known to
    succeed. `alone` keeps it from running beside others, because it restarts daemons or counts what they keep.
    `slower` is how many times as long as in a calm mesh honest rows may take during it, if that is more than during other
    attacks, and `reason` says why.
    """
    def register(function):
        sentence = " ".join(function.__doc__.split())
        ATTACKS[function.__name__.replace("_", "-")] = Attack(
            function.__name__.replace("_", "-"), function, sentence, covers, expected_failure, alone,
            slower, reason)
        return function
    return register


def load():
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"attacks.{module.name}")
    return ATTACKS
