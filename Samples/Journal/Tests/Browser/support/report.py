"""The checks: each tells its name and what it saw, and of a failed one everything is kept that there was to see."""

import re
import time
import traceback
from pathlib import Path

PATIENCE = 30


class Report:
    def __init__(self, folder):
        self.folder = Path(folder)
        self.passed, self.failed = 0, 0

    def check(self, name, is_right, seen="", stage=None):
        self.passed, self.failed = self.passed + bool(is_right), self.failed + (not is_right)
        print(f"{'✔' if is_right else '✘'} {name}{f': {seen}' if seen != '' else ''}", flush=True)
        if not is_right and stage is not None:
            self.keep(name, stage)
        return bool(is_right)

    def keep(self, name, stage):
        """Keeps a picture of each window, and prints its text and the end of the server's log."""
        self.folder.mkdir(parents=True, exist_ok=True)
        stem = f"{self.failed} {re.sub('[^A-Za-z0-9]+', ' ', name).strip()[:60]}"
        for number, window in enumerate(stage.windows, 1):
            path = self.folder / f"{stem} {number}.png"
            try:
                window.picture(path)
                print(f"  Window {number} shows {window.location()}; its picture is {path}; its text:")
                print("".join(f"    {line}\n" for line in window.text("body").splitlines()[:60]), end="")
            except Exception as error:  # a window that cannot even be looked at
                print(f"  Window {number} shows nothing: {error}")
        print("  The end of the server's log:")
        print("".join(f"    {line}\n" for line in stage.server.log_tail(20)), end="", flush=True)

    def run(self, scenario, stage):
        """Runs a scenario. An error ends it, and is a check that failed."""
        try:
            scenario(stage)
        except Exception:
            name = f"the scenario {scenario.__name__} runs to its end"
            self.check(name, False, traceback.format_exc().split("\nStacktrace")[0], stage)


def until(condition, patience=PATIENCE):
    """How many seconds it took until a condition was true; None when it has not become so.

    A condition that fails is not true yet: a page may be on its way.
    """
    start = time.monotonic()
    while True:
        try:
            if condition():
                return time.monotonic() - start
        except Exception as error:
            last = error
        else:
            last = None
        if time.monotonic() - start > patience:
            if last is not None:
                print(f"  The last error while waiting: {str(last).splitlines()[0]}")
            return None
        time.sleep(0.01)


def seconds(time):
    return "never" if time is None else f"{time:.2f} s"
