#!/usr/bin/env python3
"""Uses the journal as somebody with a browser does: Debian's Chromium, driven by Selenium.

  browser_test.py JOURNAL

JOURNAL is the built executable. Everything is made in a temporary folder; the server listens on a free port of
127.0.0.1. Each check tells what it saw; status 1 if one failed.
"""

import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

PATIENCE = 20
failures = []


def check(name, is_right, seen=""):
    print(f"{'ok    ' if is_right else 'FAILED'} {name}{f': {seen}' if seen != '' else ''}", flush=True)
    if not is_right:
        failures.append(name)


def png(number, side=200):
    """A picture of one colour, another one for each number."""
    colour = bytes([40 * number % 256, 90 * number % 256, 200])
    rows = b"".join(b"\0" + colour * side for _ in range(side))

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


class Server:
    def __init__(self, journal, folder):
        self.journal, self.folder = journal, folder
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            self.port = listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.storage = folder / "storage"

    def start(self):
        self.log = open(self.folder / "server.log", "ab")
        self.process = subprocess.Popen(
            [self.journal, "serve", "--database", str(self.folder / "journal.sqlite"), "--storage",
             f"dir:{self.storage}", "--listen", f"127.0.0.1:{self.port}"],
            stdout=subprocess.PIPE, stderr=self.log)
        line = self.process.stdout.readline().decode().strip()
        if not line.startswith("http"):
            raise SystemExit(f"The server did not start: {(self.folder / 'server.log').read_text()}")

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        """Returns the status, after a signal as systemd sends it."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=30)

    def objects(self):
        return sum(1 for path in self.storage.rglob("*") if path.is_file() and not path.name.startswith("."))


class Browser:
    def __init__(self, url):
        options = webdriver.ChromeOptions()
        for argument in ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--window-size=1000,900"]:
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)
        self.url = url

    def open(self, path):
        self.driver.get(self.url + path)

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def until(self, condition, patience=PATIENCE):
        """How many seconds it took; None when it did not come true."""
        start = time.monotonic()
        try:
            WebDriverWait(self.driver, patience, 0.05, ignored_exceptions=[Exception]).until(lambda _: condition())
            return time.monotonic() - start
        except Exception:  # whatever it was that did not come true
            return None

    def badges(self):
        return [badge.text for badge in self.all("#pictures [data-badge]")]

    def add(self, *paths):
        self.one("#files").send_keys("\n".join(str(path) for path in paths))

    def are_shown(self):
        return self.driver.execute_script(
            "return [...document.images].every(image => image.complete && image.naturalWidth > 0)")


def seconds(time):
    return "never" if time is None else f"{time:.2f} s"


def main():
    journal = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pictures = []
        for number in range(1, 7):
            pictures.append(folder / f"picture {number}.png")
            pictures[-1].write_bytes(png(number))
        server = Server(journal, folder)
        server.start()
        first, second = Browser(server.url), Browser(server.url)
        try:
            walk(server, first, second, pictures)
            errors = [entry["message"] for browser in [first, second] for entry in browser.driver.get_log("browser")
                      if entry["level"] == "SEVERE" and "ERR_CONNECTION_REFUSED" not in entry["message"]
                      and "ERR_INCOMPLETE_CHUNKED" not in entry["message"] and "404" not in entry["message"]]
            check("the browser complains of nothing", not errors, "; ".join(errors[:3]))
        finally:
            first.driver.quit()
            second.driver.quit()
            check("the server ends at SIGTERM", server.stop() == 0)
    sys.exit(1 if failures else 0)


def walk(server, first, second, pictures):
    # Keyboard only: to the field by Tab, and Enter.
    first.open("/")
    for _ in range(40):
        first.driver.switch_to.active_element.send_keys(Keys.TAB)
        if first.driver.switch_to.active_element.get_attribute("name") == "comment":
            break
    first.driver.switch_to.active_element.send_keys("Ein Spaziergang, 散歩 & <b>mehr</b>", Keys.ENTER)
    took = first.until(lambda: first.all("#running article"))
    check("a record is started by the keyboard", took is not None, seconds(took))
    record = first.one("#running h3 a")
    check("its comment is text and no markup", record.text == "Ein Spaziergang, 散歩 & <b>mehr</b>", record.text)
    path = record.get_attribute("href").removeprefix(server.url)

    first.open(path)
    second.open(path)
    first.add(*pictures[:3])
    took = first.until(lambda: first.badges() == ["remote"] * 3)
    check("three pictures reach remote", took is not None, f"{seconds(took)} {first.badges()}")
    took = second.until(lambda: second.badges() == ["remote"] * 3, 5)
    check("another window has them too", took is not None, seconds(took))
    check("the storage has three objects", server.objects() == 3, server.objects())

    first.add(pictures[3])
    first.until(lambda: len(first.badges()) == 4)
    took = second.until(lambda: len(second.badges()) == 4, 5)
    check("two windows agree within a second", took is not None and took < 1, seconds(took))
    first.until(lambda: first.badges() == ["remote"] * 4)

    # The storage goes away, as a disk that is pulled out.
    away = server.storage.with_name("away")
    server.storage.rename(away)
    first.add(pictures[4])
    took = first.until(lambda: "waiting" in first.badges())
    check("without the storage a picture waits", took is not None, first.badges())
    first.open("/storage")
    took = first.until(lambda: first.all("#waiting .waiting li"))
    reason = first.one("#waiting").text if took is not None else ""
    check("the storage page tells why", took is not None and str(server.storage) in reason, reason.replace("\n", " ")[:200])
    server.kill()
    away.rename(server.storage)
    server.start()
    first.open(path)
    took = first.until(lambda: first.badges() == ["remote"] * 5)
    check("killed, started again, with the storage back: it reaches remote", took is not None, first.badges())

    # The same while the server lives.
    server.storage.rename(away)
    first.add(pictures[5])
    first.until(lambda: "waiting" in first.badges())
    took = first.until(lambda: first.one("#outage").text)
    check("every page tells of the outage", took is not None, first.one("#outage").text)
    away.rename(server.storage)
    took = first.until(lambda: first.badges() == ["remote"] * 6, 60)
    check("with the storage back it goes on by itself", took is not None, seconds(took))

    # Freed here, and seen all the same.
    first.open("/storage")
    keep = first.one("input[name=keep]")
    keep.clear()
    keep.send_keys("0", Keys.ENTER)
    first.until(lambda: "/storage/free" in first.driver.current_url)
    text = first.one("main").text
    check("what would be freed is shown first", "6" in text, text.replace("\n", " ")[:120])
    first.one("main form button").click()
    first.until(lambda: first.driver.current_url.endswith("/storage"))
    local = [path for path in (server.folder / "journal.sqlite.lfs").iterdir() if len(path.name) == 36]
    check("no local copy is left", not local, len(local))
    first.open(path)
    took = first.until(first.are_shown)
    check("the pictures are still seen", took is not None and len(first.all("#pictures img")) == 6, seconds(took))

    # 320 pixels, in the dark, without a sideways scroll.
    for page in ["/", "/timeline", "/pictures", "/storage", path]:
        first.driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": 320, "height": 640, "deviceScaleFactor": 1, "mobile": False})
        first.open(page)
        width = first.driver.execute_script("return document.documentElement.scrollWidth")
        check(f"{page[:9]} fits 320 pixels", width <= 320, width)
    first.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})

    # The record goes, and its objects with it.
    first.open(path)
    first.one("input[name=sure]").click()
    first.one("button.danger").click()
    took = first.until(lambda: server.objects() == 0)
    check("the objects of a deleted record go", took is not None, f"{seconds(took)} {server.objects()}")


if __name__ == "__main__":
    main()
