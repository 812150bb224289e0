"""The sync server that two devices share a journal through, as a process that may be away for a while."""

import os
import select
import signal
import socket
import subprocess

from .server import Server


class SyncServer:
    """`lfs-server` with the tables of a journal's database."""

    def __init__(self, folder, journal):
        self.folder = folder
        self.sync = ["--database", str(folder / "sync.sqlite"), "--schema-from", str(journal), "--container",
                     "album:album_member:album_asset:lfs_file", "--people", "user"]
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{free.getsockname()[1]}"
        self.process = None

    @property
    def url(self):
        return f"http://{self.address}"

    def start(self):
        with open(self.folder / "sync.log", "ab") as log:
            self.process = subprocess.Popen(
                [os.environ["LFS_SERVER"], "serve", "--listen", self.address, "--name-accounts", *self.sync],
                stdout=subprocess.PIPE, stderr=log)
        readable, _, _ = select.select([self.process.stdout], [], [], 60)
        if not readable or not self.process.stdout.readline().startswith(b"http"):
            raise RuntimeError("The sync server did not start:\n" + (self.folder / "sync.log").read_text())

    def stop(self):
        """Returns the status after a signal as systemd sends it."""
        if self.process is None:
            return None
        self.process.send_signal(signal.SIGTERM)
        status, self.process = self.process.wait(timeout=60), None
        return status

    def _session(self, *arguments):
        return subprocess.run([os.environ["LFS_SERVER"], "session", *arguments], check=True, capture_output=True,
                              text=True, timeout=60).stdout.splitlines()

    def token(self, account, device):
        return self._session("add", *self.sync, "--account", account, "--device", device)[-1]

    def revoke(self, device):
        """Ends the session of a device."""
        line = next(one for one in self._session("list", *self.sync) if one.split()[-1] == device)
        self._session("revoke", *self.sync, line.split()[0])


class Devices:
    """A journal in each window, of one account or of two, and the server between them. One storage has all pictures."""

    def __init__(self, stage, *accounts):
        self.stage, self.servers = stage, []
        stage.server.stop()
        self.sync = SyncServer(stage.folder, stage.folder / "journal.sqlite")
        self.sync.start()
        self.token_files = []
        for number, (window, account) in enumerate(zip(stage.windows, accounts), 1):
            folder = stage.folder / f"device {number}"
            folder.mkdir()
            self.token_files.append(folder / "token")
            self.token_files[-1].write_text(self.sync.token(account, f"device-{number}") + "\n")
            server = Server(stage.server.journal, folder, f"dir:{stage.folder / 'shared'}", [
                "--sync", self.sync.url, "--sync-token-file", str(self.token_files[-1])])
            self.servers.append(server)
            server.start()
            window.begin(server.url)
        # The stage stops the first one.
        stage.server = self.servers[0]

    def __enter__(self):
        return self.sync

    def __exit__(self, *_):
        for window in self.stage.windows:
            window.driver.get("about:blank")
        statuses = [self.servers[1].stop(), self.sync.stop()]
        self.stage.report.check("the other device and the sync server end at SIGTERM", set(statuses) <= {0, None},
                                statuses)
