"""Where a scenario takes place: a server of its own, two windows, and the checks of what they show."""

from .pictures import png
from .report import PATIENCE, seconds, until


class Stage:
    def __init__(self, report, server, windows, folder):
        self.report, self.server, self.windows, self.folder = report, server, windows, folder
        self.first, self.second = windows
        # The text of axe-core, and where pictures of the pages are wanted.
        self.axe, self.screens = "", None
        self.count = 0

    def check(self, name, is_right, seen=""):
        return self.report.check(name, is_right, seen, self)

    def expect(self, name, condition, patience=PATIENCE, seen=lambda: ""):
        """Checks that a condition becomes true."""
        took = until(condition, patience)
        return self.check(name, took is not None, f"{seconds(took)} {seen()}".strip())

    def settle(self, what, condition):
        """Waits for what a scenario needs and does not judge."""
        if until(condition) is None:
            raise RuntimeError(f"It did not come to this: {what}.")

    def pictures(self, count=1, **options):
        """Files with pictures, none like another."""
        paths = []
        for _ in range(count):
            self.count += 1
            paths.append(self.folder / f"picture {self.count}.png")
            paths[-1].write_bytes(png(self.count, **options))
        return paths

    def record(self, comment="A walk"):
        """Starts a record, opens it in the first window, and gives its path."""
        self.first.open("/")
        self.first.one("input[name=comment]").send_keys(comment)
        self.first.submit("form.start button")
        self.settle("the record runs", lambda: self._path(comment))
        path = self._path(comment)
        self.first.open(path)
        return path

    def _path(self, comment):
        return self.first.script("""
            const links = [...document.querySelectorAll("#running h3 a")];
            const link = links.find(one => one.innerText.startsWith(arguments[0].slice(0, 40)));
            return link ? link.getAttribute("href") : null
            """, comment)

    def record_with(self, *pictures, comment="A walk"):
        """The same with pictures that have reached the storage."""
        path = self.record(comment)
        self.first.choose(*pictures)
        self.settle("the pictures are remote", lambda: self.first.badges() == ["remote"] * len(pictures))
        return path
