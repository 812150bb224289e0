"""All pages of a journal that has something on each."""

import subprocess

LONG = "Donaudampfschifffahrtsgesellschaftskapitän" * 6


class Tour:
    """Fills the journal of a stage: records of many days, a running one, pictures, an album."""

    def __init__(self, stage):
        self.stage, window = stage, stage.first
        server = stage.server
        server.stop()
        subprocess.run([server.journal, "demo", "--records", "60", "--pictures", "12", "--database",
                        str(server.folder / "journal.sqlite"), "--storage", f"dir:{server.storage}"],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        server.start()
        window.open("/pictures")
        window.click("#actions summary")
        window.one("input[name=name]").send_keys("Holidays")
        window.submit("form[action='/albums'] button")
        stage.settle("there is an album", lambda: window.count(".albums a") == 1)
        self.album = window.script("return document.querySelector('.albums a').getAttribute('href')")
        stage.settle("the demo's pictures are remote", lambda: self._are_remote(window))
        window.script("document.querySelectorAll('#chosen label.choose').forEach((one, place) => place < 3 && one.click())")
        window.submit(".selection button:not([formaction])")
        stage.settle("the album has pictures", lambda: window.count("#album figure") == 3)
        self.record = stage.record_with(*stage.pictures(3), comment=f"A walk along the river. {LONG}")
        self.file = window.script("return document.querySelector('[data-file]').dataset.file")
        self.waiting = stage.record(comment="Without the storage")

    @staticmethod
    def _are_remote(window):
        window.open("/pictures")
        return set(window.badges("main")) == {"remote"}

    def pages(self):
        return {"how": f"/how?file={self.file}", "inspector": f"/files/{self.file}/inspect", "today": "/", "timeline": "/timeline", "record": self.record, "record that waits": self.waiting,
                "pictures": "/pictures", "recently deleted": "/trash", "album": self.album, "storage": "/storage", "settings": "/settings",
                "free space": "/storage/free?keep=0",
                "error": "/records/none"}

    def visit(self):
        """Opens each page in the first window, once, and gives its name. After the first one the storage is away."""
        storage, window, settle = self.stage.server.storage, self.stage.first, self.stage.settle
        window.open("/storage")
        window.submit("form[action='/storage/verify'] button")
        settle("the storage is verified", lambda: "were compared" in window.text("main"))
        yield "verification"
        storage.rename(storage.with_name("away"))
        window.open(self.waiting)
        window.choose(*self.stage.pictures(1))
        settle("a picture waits", lambda: window.badges() == ["waiting"])
        for name, path in self.pages().items():
            window.open(path)
            yield name
