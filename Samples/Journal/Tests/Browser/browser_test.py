#!/usr/bin/env python3
"""Uses the journal as somebody with a browser does: Debian's Chromium, driven by Selenium.

  browser_test.py JOURNAL --axe FILE [--only SCENARIO]... [--keep FOLDER]
  browser_test.py JOURNAL --axe FILE --screens FOLDER

JOURNAL is the built executable, FILE axe-core's axe.min.js; LFS_SERVER names the built sync server. Everything is made in temporary folders; servers listen on
free ports of 127.0.0.1. Each check tells what it saw. Of one that fails, pictures of the windows are kept in FOLDER,
and the status is 1. With --screens, nothing is checked, but pictures of all pages are put into FOLDER.
"""

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

from scenarios import (access, accessibility, bucket, devices, explains, outages, pictures, records, screens, secrets,
                       settings, space)
from support.bucket import Bucket
from support.report import Report
from support.server import Server
from support.stage import Stage
from support.window import Window

SCENARIOS = [records.three_pictures, records.two_windows, records.change_while_loading, outages.storage_away,
             pictures.viewer, pictures.selection, explains.what_lfs_does, explains.first_pictures, explains.many_tabs,
             outages.killed_in_an_upload, space.freed_and_deleted, space.deleted_elsewhere, access.keyboard_only,
             access.every_control, access.narrow_windows, access.without_scripts, accessibility.each_page,
             accessibility.the_way_in, settings.settings, settings.folders, secrets.logged_in,
             devices.two_devices, devices.two_accounts, bucket.on_a_bucket, secrets.keys_to_a_bucket]
# Those that need what Tests/Servers/with starts.
ON_A_BUCKET = [bucket.on_a_bucket, secrets.keys_to_a_bucket]


def main():
    names = [scenario.__name__ for scenario in SCENARIOS]
    parser = argparse.ArgumentParser(description="Uses the journal as somebody with a browser does.")
    parser.add_argument("journal", type=os.path.abspath)
    parser.add_argument("--axe", type=Path, required=True)
    parser.add_argument("--only", action="append", choices=names)
    parser.add_argument("--keep", default="browser-failures", type=os.path.abspath)
    parser.add_argument("--screens", type=Path)
    options = parser.parse_args()
    scenarios = [scenario for scenario in SCENARIOS if options.only is None or scenario.__name__ in options.only]
    if options.screens is not None:
        options.screens.mkdir(parents=True, exist_ok=True)
        scenarios = [screens.screens]
    report = Report(options.keep)
    windows = [Window(), Window()]
    try:
        for scenario in scenarios:
            if scenario in ON_A_BUCKET and not Bucket.is_there():
                print(f"  {scenario.__name__} is left out: Tests/Servers/with starts no server.")
            else:
                play(scenario, report, options, windows)
    finally:
        for window in windows:
            window.driver.quit()
    print(f"{report.passed} passed, {report.failed} failed")
    sys.exit(1 if report.failed else 0)


def play(scenario, report, options, windows):
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="journal-") as name:
        server = Server(options.journal, Path(name))
        stage = Stage(report, server, windows, Path(name))
        stage.axe, stage.screens = options.axe.read_text(), options.screens
        try:
            server.start()
            for window in windows:
                window.begin(server.url)
            report.run(scenario, stage)
        finally:
            for window in windows:
                window.driver.get("about:blank")
            status = stage.server.stop()
        report.check("the server ends at SIGTERM", status == 0, status)
    print(f"  {scenario.__name__}: {time.monotonic() - start:.1f} s", flush=True)


if __name__ == "__main__":
    main()
