"""Proves that a slow mesh is noticed: an attack that stops a daemon for seconds fails, and one that does nothing passes."""

import os
import signal
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from attacks import Attack  # noqa: E402
from daemons import Failed  # noqa: E402
from run import Arena, one  # noqa: E402
from scene import Slower  # noqa: E402


def stop_the_laptop(scene):
    scene.laptop.daemon.send_signal(signal.SIGSTOP)
    time.sleep(6)
    scene.laptop.daemon.send_signal(signal.SIGCONT)


def main():
    arena = Arena(0, 1.0)
    try:
        nothing = one(arena, Attack("nothing", lambda scene: time.sleep(2), "Does nothing", ()))
        if nothing is not None:
            raise Failed(f"an attack that does nothing failed: {nothing}")
        stopped = one(arena, Attack("stop-the-laptop", stop_the_laptop, "Stops a daemon for a while", ()))
        if not isinstance(stopped, Slower):
            raise Failed(f"a daemon that stood still was not noticed: {stopped}")
    finally:
        arena.end()
    print(f"A daemon that stood still was noticed: {stopped}")


if __name__ == "__main__":
    main()
