"""A journal on two devices, each in a window of its own, and one sync server."""

from support.sync import Devices

FIRST = "#pictures li:first-child"


def stays(window):
    """Notes the page, so that ``is_same`` tells whether it was loaded again."""
    window.script("window.isSame = true")


def is_same(window):
    return window.script("return window.isSame === true")


def save(window, comment=None, tag=None):
    """Changes the record whose page is shown."""
    if comment is not None:
        window.one("textarea").clear()
        window.one("textarea").send_keys(comment)
    if tag is not None:
        window.one("form.edit input[name=newTag]").send_keys(tag)
    window.submit("form.edit button")


def start(window, comment):
    window.open("/")
    window.one("input[name=comment]").send_keys(comment)
    window.submit("form.start button")


def make_album(window, name):
    window.open("/pictures")
    window.click("#actions summary")
    window.one("form[action='/albums'] input[name=name]").send_keys(name)
    window.submit("form[action='/albums'] button")


def two_devices(stage):
    first, second = stage.windows
    with Devices(stage, "ann", "ann") as sync:
        second.open("/")
        stays(second)
        path = stage.record("A walk")
        stage.expect("a record of one device appears on the other's open page",
                     lambda: "A walk" in second.text("#running"), 10)
        stage.check("which was not loaded again", is_same(second))
        second.open(path)
        stays(second)
        first.choose(*stage.pictures(1))
        stage.expect("so does a picture, once it is remote", lambda: second.badges() == ["remote"], 20, second.badges)
        stage.expect("and it is seen", lambda: second.are_shown(FIRST + " img"))
        first.open("/storage")
        first.submit("form[action='/storage/pause'] button")
        first.open(path)
        first.choose(*stage.pictures(1))
        stage.expect("a picture that is not uploaded yet is a placeholder on the other device",
                     lambda: second.badges() == ["remote", "elsewhere"] and second.are_shown(), 20, second.badges)
        first.open("/storage")
        first.submit("form[action='/storage/resume'] button")
        stage.expect("and the picture as soon as it is remote", lambda: second.badges() == ["remote"] * 2, 20,
                     second.badges)
        stage.check("the page was not loaded again", is_same(second))
        first.open("/timeline")
        stays(first)
        save(second, tag="Outside")
        stage.expect("a tag of the other device appears here", lambda: "Outside" in first.text(".tags"), 10)
        stage.check("on the page that was open", is_same(first))
        make_album(first, "Summer")
        second.open("/pictures")
        stage.expect("an album appears, too", lambda: "Summer" in second.text("#albums"), 10)
        offline(stage, sync, path)
        sync.revoke("device-2")
        second.open("/storage")
        stage.expect("a device whose session has ended tells what to do", lambda: "session add" in second.text("#sync"),
                     40, lambda: second.text("#sync"))
        stage.check("the other one goes on", first.text("#sync") == "")
        complaints = [text for window in stage.windows for text in window.complaints()]
        stage.check("neither browser complains", not complaints, "; ".join(complaints[:3]))


def offline(stage, sync, path):
    """Both devices edit while the server is away."""
    first, second = stage.windows
    for window in stage.windows:
        window.open(path)
    stage.check("the sync server ends at SIGTERM", sync.stop() == 0)
    for name, window in [("first", first), ("second", second)]:
        stage.expect(f"the {name} device's open page tells that the server is away",
                     lambda: "resumes automatically" in window.text("#sync"), 20, lambda: window.text("#sync"))
    save(first, comment="A long walk")
    save(second, tag="Rain")
    for window in stage.windows:
        window.choose(*stage.pictures(1))
    for window in stage.windows:
        stage.settle("the picture is remote", lambda: window.badges() == ["remote"] * 3)
    start(first, "Here alone")
    start(second, "There alone")
    first.open("/storage")
    stage.check("the storage page tells how much waits", "changes" in first.text("#devices") and "0 changes" not in
                first.text("#devices"), first.text("#devices").replace("\n", " "))
    for window in stage.windows:
        window.open("/timeline")
        stays(window)
    sync.start()
    for name, window in [("first", first), ("second", second)]:
        stage.expect(f"with the server back the {name} device has both edits of the record, and both new ones", lambda: all(
            text in window.text("#timeline") for text in ["A long walk", "Outside", "Rain", "Here alone", "There alone"]),
            60, lambda: window.text("#timeline").replace("\n", " ")[:300])
        stage.check("on the page that was open", is_same(window))
        window.open(path)
        stage.expect("and the pictures of both", lambda: window.badges() == ["remote"] * 4 and window.are_shown(
            "#pictures img"), 30, window.badges)
        window.open("/storage")
        stage.expect("nothing waits, and nothing was refused", lambda: window.texts("#devices dd")[2:] == [
            "0 changes", "0", "0"], 20, lambda: window.texts("#devices dd"))


def two_accounts(stage):
    """An album that one account shares with the other, from the browser."""
    ann, bob = stage.windows
    with Devices(stage, "ann", "bob"):
        bob.open("/pictures")
        stays(bob)
        stage.record_with(*stage.pictures(2), comment="Ann's own")
        make_album(ann, "Summer")
        ann.click("input[name=picture]")
        ann.submit(".selection button:not([formaction])")
        album = ann.location()
        ann.one("form.share input[name=name]").send_keys("bob")
        ann.submit("form.share button")
        stage.expect("the album tells whom it is shared with", lambda: "bob" in ann.text("#shared"))
        stage.expect("it appears on the other account's open page", lambda: "Summer shared with you" in
                     bob.text("#albums"), 20, lambda: bob.text("#albums"))
        stage.check("which was not loaded again", is_same(bob))
        bob.open(album)
        stays(bob)
        stage.expect("with its picture", lambda: bob.badges("#album") == ["remote"] and bob.are_shown(
            "#album img"), 20)
        stage.check("without a way to change it", bob.count("#album button") == 0)
        bob.open("/timeline")
        stage.check("and without the record", "Ann's own" not in bob.text("main"))
        bob.open(album)
        stays(bob)
        ann.open("/pictures")
        ann.driver.find_elements("css selector", "input[name=picture]")[1].click()
        ann.submit(".selection button:not([formaction])")
        stage.expect("a picture that is added appears", lambda: bob.badges("#album") == ["remote"] * 2, 20)
        ann.submit("#album form[action$=\"/remove\"] button")
        stage.expect("and goes when it is taken out", lambda: bob.count("#album figure") == 1, 20)
        bob.open("/pictures")
        stays(bob)
        ann.submit("#shared button")
        stage.expect("the album goes when it is shared no longer", lambda: bob.count("#albums li") == 0, 20)
        stage.check("from the page that was open", is_same(bob))
        stage.check("and its owner has it still", ann.count("#album figure") == 1)
        complaints = [text for window in stage.windows for text in window.complaints()]
        stage.check("neither browser complains", not complaints, "; ".join(complaints[:3]))
