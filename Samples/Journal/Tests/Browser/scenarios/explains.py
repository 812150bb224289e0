"""The pages that show what LFS does, and many tabs that share one stream of events."""

import json
import urllib.request

TABS = 10


def what_lfs_does(stage):
    """A file on the page "How it works" and in the inspector: uploaded, freed and fetched back."""
    path = stage.record_with(*stage.pictures(1))
    window, other = stage.first, stage.second
    file = window.script("return document.querySelector('[data-file]').dataset.file")
    other.open("/how")
    chips = "[data-chips={}] [data-file='" + file + "']"
    stage.expect("an uploaded file is in the stage Remote", lambda: other.count(chips.format("remote")) == 1)
    window.click("#pictures .state")
    stage.settle("the badge leads to the inspector", lambda: window.location() == f"/files/{file}/inspect")
    window.submit("form[action$='/free'] button")
    stage.expect("the inspector shows a freed file", lambda: window.states("main") == ["remote-only"],
                 seen=lambda: window.text("main .now"))
    stage.expect("the open page moves it to the stage Freed", lambda: other.count(chips.format("freed")) == 1)
    stage.check("and no local copy is left", not stage.server.local_copies())
    window.submit("form[action$='/fetch'] button")
    stage.expect("fetched back it is on both places", lambda: window.states("main") == ["remote"])
    stage.expect("the open page moves it to the stage Fetched back", lambda: other.count(chips.format("fetched")) == 1)
    stage.expect("and names the events", lambda: {"freed", "downloaded"} <= set(other.texts("#log strong")),
                 seen=lambda: other.texts("#log strong"))
    window.submit("form[action$='/verify'] button")
    stage.expect("verifying reads the object", lambda: "LFS read the object" in window.text("main .log"))
    request = urllib.request.Request(f"{stage.server.url}/files/{file}/inspect", headers={"Accept": "application/json"})
    with urllib.request.urlopen(request) as reply:
        values = json.load(reply)
    stage.check("the same is there as JSON", values["state"] == "remote" and values["isOnThisDevice"], values["state"])
    window.open(path)
    complaints = [text for one in stage.windows for text in one.complaints()]
    stage.check("neither browser complains", not complaints, "; ".join(complaints[:3]))


def first_pictures(stage):
    """An empty journal takes pictures that are dropped on its pages, without a record to be made first."""
    window = stage.first
    window.open("/pictures")
    stage.check("an empty journal says what to do", "This journal is empty" in window.text("#welcome"))
    window.drop(*stage.pictures(3))
    stage.expect("dropped pictures reach remote", lambda: window.badges("#timeline") == ["remote"] * 3, 20,
                 lambda: window.badges("#timeline"))
    stage.expect("the first steps are gone", lambda: window.text("#welcome") == "")
    stage.second.open("/timeline")
    stage.check("they have one record in common", stage.second.count("article") == 1)
    complaints = window.complaints()
    stage.check("the browser does not complain", not complaints, "; ".join(complaints[:3]))


def many_tabs(stage):
    """Browsers open six connections to a server, and a stream of events keeps one."""
    path = stage.record()
    driver = stage.first.driver
    driver.set_page_load_timeout(20)
    first, tabs = driver.current_window_handle, []
    try:
        for _ in range(TABS - 1):
            driver.switch_to.new_window("tab")
            tabs.append(driver.current_window_handle)
            stage.first.open(path)
        stage.check(f"{TABS} tabs load", stage.first.count("#pictures") == 1)
        driver.switch_to.window(first)
        stage.first.choose(*stage.pictures(1))
        for number, tab in enumerate([first, tabs[0], tabs[-1]]):
            driver.switch_to.window(tab)
            stage.expect(f"tab {number + 1} of three shows the new picture",
                         lambda: stage.first.badges() == ["remote"], seen=stage.first.badges)
        # The next tab opens the stream when the one that had it is closed.
        driver.switch_to.window(first)
        driver.get("about:blank")
        driver.switch_to.window(tabs[-1])
        stage.first.choose(*stage.pictures(1))
        driver.switch_to.window(tabs[0])
        stage.expect("the other tabs go on when the first one is closed",
                     lambda: stage.first.badges() == ["remote"] * 2, seen=stage.first.badges)
    finally:
        for tab in tabs:
            driver.switch_to.window(tab)
            driver.close()
        driver.switch_to.window(first)
