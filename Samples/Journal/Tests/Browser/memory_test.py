#!/usr/bin/env python3
"""Sends the journal a hundred pictures of 5 MiB, all at once, and looks at the memory of the server.

  memory_test.py JOURNAL

The status is 1 when the server has used 128 MiB or more, or a picture is missing. How fast a page comes meanwhile is
printed only: it depends on what else the machine does.
"""

import http.client
import os
import re
import sys
import tempfile
import threading
import time
from pathlib import Path

from support.pictures import png
from support.report import Report, seconds, until
from support.server import Server

COUNT, SIZE, LIMIT = 100, 5 << 20, 128 << 20


class Visitor:
    """A browser without a window: it keeps the cookie and the token of its forms."""

    def __init__(self, address):
        self.address = address
        page, cookies = self.ask("GET", "/")
        self.cookie = cookies.split(";")[0]
        self.token = re.search('data-token="([0-9a-f]+)"', page).group(1)

    def ask(self, method, path, body=None, **headers):
        """The text of the reply and what follows it: its cookie or the place that it leads to."""
        connection = http.client.HTTPConnection(self.address, timeout=120)
        own = {"Accept": "text/html", "Sec-Fetch-Site": "same-origin", "Cookie": getattr(self, "cookie", "")}
        connection.request(method, path, body, {**own, **headers})
        reply = connection.getresponse()
        text = reply.read().decode()
        connection.close()
        if reply.status >= 400:
            raise RuntimeError(f"{method} {path}: {reply.status} {text[:300]}")
        return text, reply.headers.get("Set-Cookie") or reply.headers.get("Location")

    def record(self):
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        self.ask("POST", "/records", f"token={self.token}&comment=A+hundred", **form)
        return re.search("/records/[0-9a-f-]{36}", self.ask("GET", "/")[0]).group(0)

    def send(self, path, picture):
        self.ask("POST", f"{path}/pictures", picture, **{"Content-Type": "image/png", "X-Journal-Token": self.token})


def main():
    report = Report(".")
    with tempfile.TemporaryDirectory(prefix="journal-") as name:
        server = Server(os.path.abspath(sys.argv[1]), Path(name))
        server.start()
        try:
            look(report, server)
        finally:
            status = server.stop()
        report.check("the server ends at SIGTERM", status == 0, status)
    print(f"{report.passed} passed, {report.failed} failed")
    sys.exit(1 if report.failed else 0)


def look(report, server):
    visitor = Visitor(server.address)
    path = visitor.record()
    before = server.peak_memory()
    together, errors, waits = threading.Barrier(COUNT + 1), [], []

    def send(number):
        picture = png(number, filling=SIZE)
        together.wait()
        try:
            visitor.send(path, picture)
        except Exception as error:
            errors.append(str(error))

    threads = [threading.Thread(target=send, args=[number]) for number in range(COUNT)]
    for thread in threads:
        thread.start()
    together.wait()
    start = time.monotonic()
    while any(thread.is_alive() for thread in threads):
        begin = time.monotonic()
        visitor.ask("GET", "/timeline")
        waits.append(time.monotonic() - begin)
    took = time.monotonic() - start
    report.check(f"{COUNT} pictures of {SIZE >> 20} MiB that come at once are taken", not errors,
                 errors[:3] or seconds(took))
    uploaded = until(lambda: len(server.objects()) == COUNT, 60)
    report.check("all of them reach the storage", uploaded is not None, len(server.objects()))
    memory = server.peak_memory()
    report.check(f"the server stays below {LIMIT >> 20} MiB of memory", memory < LIMIT,
                 f"{memory / (1 << 20):.1f} MiB, {before / (1 << 20):.1f} MiB before")
    waits.sort()
    print(f"  A page came {len(waits)} times meanwhile, after {waits[len(waits) // 2] * 1000:.0f} ms in the middle and "
          f"{waits[-1] * 1000:.0f} ms at the most.")


if __name__ == "__main__":
    main()
