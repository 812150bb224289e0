"""All pages of a journal that has something on each."""

import subprocess

LONG = "Donaudampfschifffahrtsgesellschaftskapitän" * 6


class Tour:
    """Fills the journal of a stage: records of many days, a running one, pictures, an album, one that waits."""

    def __init__(self, stage, shows_waiting=True):
        self.stage, window = stage, stage.first
        server = stage.server
        server.stop()
        subprocess.run([server.journal, "demo", "--records", "60", "--pictures", "12", "--database",
                        str(server.folder / "journal.sqlite"), "--storage", f"dir:{server.storage}"],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        server.start()
        window.open("/pictures")
        window.one("input[name=name]").send_keys("Holidays")
        window.click("form[action='/albums'] button")
        stage.settle("there is an album", lambda: window.count(".albums a") == 1)
        self.album = window.script("return document.querySelector('.albums a').getAttribute('href')")
        stage.settle("the demo's pictures are remote", lambda: self._are_remote(window))
        for box in window.driver.find_elements("css selector", "input[name=picture]")[:3]:
            box.click()
        window.click("form#chosen button")
        stage.settle("the album has pictures", lambda: window.count("#album figure") == 3)
        self.record = stage.record_with(*stage.pictures(3), comment=f"A walk along the river. {LONG}")
        if shows_waiting:
            server.storage.rename(server.storage.with_name("away"))
            other = stage.record(comment="Without the storage")
            window.choose(*stage.pictures(1))
            stage.settle("one picture waits", lambda: window.badges() == ["waiting"])
            self.waiting = other

    @staticmethod
    def _are_remote(window):
        window.open("/pictures")
        return set(window.texts("[data-badge]")) == {"remote"}

    def pages(self):
        return {"today": "/", "timeline": "/timeline", "record": self.record, "pictures": "/pictures",
                "album": self.album, "storage": "/storage", "free space": "/storage/free?keep=0",
                "error": "/records/none"}

    def visit(self):
        """Opens each page in the first window, and gives its name."""
        for name, path in self.pages().items():
            self.stage.first.open(path)
            yield name
        self.stage.first.open("/storage")
        self.stage.first.click("form[action='/storage/verify'] button")
        self.stage.settle("the storage is verified", lambda: "were compared" in self.stage.first.text("main")
                          or self.stage.first.count("form[action='/storage/verify']") == 0)
        yield "verification"
