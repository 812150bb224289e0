"""The server of the journal, as a process that may be killed and started again."""

import select
import signal
import subprocess
import time


class Server:
    def __init__(self, journal, folder, storage=None, arguments=(), environment=None):
        self.journal, self.folder, self.environment = journal, folder, environment
        self.storage = folder / "storage"
        self.address = "127.0.0.1:0"
        self.arguments = ["--storage", storage or f"dir:{self.storage}", "--secrets", str(folder / "secrets"), *arguments]
        self.local = folder / "journal.sqlite.lfs"
        self.log = folder / "server.log"
        self.process = None

    def start(self):
        """Starts it, the second time where it was before, and returns when it listens."""
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [self.journal, "serve", "--database", str(self.folder / "journal.sqlite"), "--listen", self.address,
                 *self.arguments], stdout=subprocess.PIPE, stderr=log, env=self.environment)
        readable, _, _ = select.select([self.process.stdout], [], [], 60)
        line = self.process.stdout.readline().decode().strip() if readable else ""
        if not line.startswith("http"):
            raise RuntimeError("The server did not start:\n" + "\n".join(self.log_tail(20)))
        self.url = line.rstrip("/")
        self.address = self.url.split("//")[1]

    def kill(self):
        self.process.kill()
        self.process.wait()

    def freeze(self):
        """Returns when it stands still: nothing of it runs until it is killed or goes on."""
        self.process.send_signal(signal.SIGSTOP)
        while True:
            with open(f"/proc/{self.process.pid}/stat") as state:
                if state.read().rsplit(")")[-1].split()[0] == "T":
                    return
            time.sleep(0.001)

    def thaw(self):
        self.process.send_signal(signal.SIGCONT)

    def stop(self):
        """Returns the status after a signal as systemd sends it; kills it when it does not end."""
        if self.process is None:
            return None
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self.kill()
            return "none within a minute"

    def log_tail(self, count):
        return self.log.read_text(errors="replace").splitlines()[-count:] if self.log.exists() else []

    # What is where.

    def objects(self):
        """The sizes of the objects on a storage that is a folder."""
        return [path.stat().st_size for path in self.storage.rglob("*")
                if path.is_file() and not path.name.startswith(".")]

    def unfinished(self):
        """The sizes of objects that are being written."""
        return [path.stat().st_size for path in self.storage.rglob(".*.part")]

    def local_copies(self):
        return [path.name for path in self.local.iterdir() if len(path.name) == 36]

    def peak_memory(self):
        """In bytes."""
        with open(f"/proc/{self.process.pid}/status") as status:
            return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))
