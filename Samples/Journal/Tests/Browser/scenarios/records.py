"""A record with pictures, in two windows."""

from selenium.webdriver.common.action_chains import ActionChains

from support.report import seconds, until

# When a window shows a number of badges first, on the clock that all windows of a machine share.
NOTE = """
    const [count] = arguments, list = document.getElementById("pictures");
    window.seenAt = null;
    const look = () => {
        const isSeen = list.querySelectorAll("[data-badge]").length === count;
        if (isSeen && window.seenAt === null) window.seenAt = Date.now();
    };
    new MutationObserver(look).observe(list, { childList: true, subtree: true });
    look();
    """


def three_pictures(stage):
    path = stage.record("A walk, 散歩 & <b>more</b>")
    stage.check("a comment is text and no markup", "散歩 & <b>more</b>" in stage.first.script(
        "return document.querySelector('textarea').value"))
    stage.first.choose(*stage.pictures(3))
    stage.expect("each badge of three pictures reaches remote", lambda: stage.first.badges() == ["remote"] * 3,
                 seen=stage.first.badges)
    stage.expect("each picture is seen", stage.first.are_shown)
    stage.check("the storage has three objects", len(stage.server.objects()) == 3, stage.server.objects())
    stage.first.open("/pictures")
    stage.check("the page of all pictures has three", stage.first.count("figure") == 3, stage.first.count("figure"))
    stage.first.open(path)
    stage.first.drop(*stage.pictures(2))
    stage.expect("two pictures that are dropped at once reach remote", lambda: stage.first.badges() == ["remote"] * 5,
                 seen=stage.first.badges)
    stage.first.paste(*stage.pictures(1))
    stage.expect("a picture that is pasted reaches remote", lambda: stage.first.badges() == ["remote"] * 6,
                 seen=stage.first.badges)
    no_picture = stage.folder / "page.png"
    no_picture.write_text("<html><script>alert(1)</script></html>")
    stage.first.drop(no_picture)
    stage.expect("what is no picture is refused with a sentence",
                 lambda: "Only pictures are accepted" in stage.first.text("#uploads .bad"),
                 seen=lambda: stage.first.text("#uploads"))
    stage.check("the browser complains of nothing else", not stage.first.complaints("status of 415"))


def two_windows(stage):
    path = stage.record()
    stage.second.open(path)
    differences = []
    for number in range(1, 4):
        for window in stage.windows:
            window.script(NOTE, number)
        stage.first.choose(*stage.pictures(1))
        stage.settle("both windows have the picture", lambda: all(
            window.script("return window.seenAt") for window in stage.windows))
        times = [window.script("return window.seenAt") for window in stage.windows]
        differences.append(abs(times[0] - times[1]) / 1000)
    stage.check("two windows agree within a second on each of three pictures", max(differences) < 1,
                ", ".join(f"{one:.2f} s" for one in differences))
    stage.expect("both show that all are remote", lambda: all(
        window.badges() == ["remote"] * 3 for window in stage.windows))
    held_button(stage)
    stage.second.open("/")
    stage.first.submit("#state button")
    took = until(lambda: stage.second.count("#running article") == 0)
    stage.check("a timer that is stopped in one window stops in the other", took is not None, seconds(took))
    complaints = [text for window in stage.windows for text in window.complaints()]
    stage.check("neither browser complains", not complaints, "; ".join(complaints[:3]))


# Connects to the events when it is told to, and not before.
LATE = """
    const Early = EventSource;
    window.EventSource = function (url) {
        const listeners = [];
        window.connect = () => {
            const events = new Early(url);
            for (const one of listeners) events.addEventListener(...one);
        };
        return { addEventListener: (...one) => listeners.push(one), close: () => {} };
    };
    """


def change_while_loading(stage):
    """What happens after the server has made a page, and before the page listens to it."""
    path = stage.record()
    chromium = stage.second.driver.execute_cdp_cmd
    script = chromium("Page.addScriptToEvaluateOnNewDocument", {"source": LATE})["identifier"]
    stage.second.open(path)
    chromium("Page.removeScriptToEvaluateOnNewDocument", {"identifier": script})
    stage.first.choose(*stage.pictures(1))
    stage.settle("the picture is remote", lambda: stage.first.badges() == ["remote"])
    stage.check("a page that does not listen yet does not know of a picture", stage.second.badges() == [])
    stage.second.script("connect()")
    stage.expect("once it listens it shows it", lambda: stage.second.badges() == ["remote"], 5, stage.second.badges)


def held_button(stage):
    """A button that is being pressed while the page around it changes."""
    window = stage.second
    other = "return performance.getEntriesByType('resource').filter(one => one.initiatorType === 'fetch').length"
    path = window.location()
    window.open("/")
    window.one("input[name=comment]").send_keys("Another one")
    window.submit("form.start button")
    stage.settle("both records run", lambda: window.count("#running article") == 2)
    button = window.one("#running article:last-of-type button")
    fetched = window.script(other)
    hands = ActionChains(window.driver)
    hands.click_and_hold(button).perform()
    stage.first.choose(*stage.pictures(1))
    stage.settle("the page has looked what is new", lambda: window.script(other) > fetched)
    hands.release().perform()
    stage.expect("a button does its work that is held while the page changes",
                 lambda: window.count("#running article") == 1, 5, lambda: window.count("#running article"))
    stage.expect("and what is new is shown then", lambda: window.count("#running .strip img") == 4)
    window.open(path)
