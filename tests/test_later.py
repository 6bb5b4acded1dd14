"""Functions that are imported when they are first called."""

from __future__ import annotations

import subprocess
import sys

from preflight.later import later


def test_it_does_what_the_function_does() -> None:
    join = later("os.path", "join")
    assert join("a", "b") == join("a", "b") == "a/b"


def test_in_a_class_it_is_a_method() -> None:
    count = later("operator", "is_")

    class Held:
        same = count

    held = Held()
    assert held.same(held) is True and held.same(1) is False


def test_nothing_is_imported_before_the_first_call() -> None:
    code = (
        "import sys; from preflight.later import later; tell = later('colorsys', 'rgb_to_hsv');"
        "assert 'colorsys' not in sys.modules; tell(1, 1, 1); assert 'colorsys' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
