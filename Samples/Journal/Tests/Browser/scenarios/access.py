"""The keyboard alone, narrow windows, the dark, and no JavaScript."""

from selenium.webdriver.common.keys import Keys

from support.tour import Tour

# What can be reached by Tab and is seen, apart from choices that are made with the arrow keys.
CONTROLS = """
    // Contrast as WCAG 2 tells it: https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio
    const light = text => text.match(/[0-9.]+/g).slice(0, 3).map(one => one / 255)
        .map(one => one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4)
        .reduce((sum, one, index) => sum + one * [0.2126, 0.7152, 0.0722][index], 0);
    const contrast = (one, other) => {
        const [dark, bright] = [light(one), light(other)].sort((a, b) => a - b);
        return (bright + 0.05) / (dark + 0.05);
    };
    const back = getComputedStyle(document.body).backgroundColor;
    const isSeen = one => one.checkVisibility() && one.getClientRects().length > 0 && !one.disabled;
    window.controls = [...document.querySelectorAll("a[href], button, input:not([type=hidden]), select, textarea")]
        .filter(isSeen);
    window.reached = new Map();
    document.addEventListener("focusin", ({ target }) => {
        const style = getComputedStyle(target), place = target.getBoundingClientRect();
        window.reached.set(target, {
            ring: style.outlineStyle === "none" ? 0 : parseFloat(style.outlineWidth),
            contrast: contrast(style.outlineColor, back),
            isInView: place.bottom > 0 && place.top < innerHeight && place.right > 0 && place.left < innerWidth });
    });
    return controls.length
    """
REACHED = """
    const name = one => (one.getAttribute("aria-label") || one.innerText || one.name || one.tagName).trim();
    const seen = controls.filter(one => reached.has(one)).map(one => [one, reached.get(one)]);
    return { missed: controls.filter(one => one.isConnected && !reached.has(one)).map(name),
        faint: seen.filter(([, how]) => how.ring < 2 || how.contrast < 3 || !how.isInView).map(([one]) => name(one)) }
    """


def keyboard_only(stage):
    window = stage.first
    window.open("/")
    stage.check("the first Tab leads to the link past the navigation", window.tab_to("one.className === 'skip'"))
    window.press(Keys.ENTER)
    stage.check("it skips to the content", window.script("return document.activeElement.id") == "main")
    stage.check("Tab leads to the field of a new record", window.tab_to("one.name === 'comment'"))
    with window.leaving():
        window.press("By keyboard", Keys.ENTER)
    stage.expect("Enter starts the record", lambda: window.count("#running article") == 1)
    stage.check("Tab leads to Stop", window.tab_to("one.innerText === 'Stop'"))
    with window.leaving():
        window.press(Keys.SPACE)
    stage.expect("Space stops its timer", lambda: window.count("#running article") == 0)
    stage.expect("it is among the day's records", lambda: "By keyboard" in window.text("#day"))
    stage.check("Tab leads to the record", window.tab_to("one.innerText === 'By keyboard'"))
    with window.leaving():
        window.press(Keys.ENTER)
    stage.expect("Enter opens it", lambda: window.location().startswith("/records/"))
    stage.check("Tab leads to its comment", window.tab_to("one.name === 'comment'"))
    window.press(Keys.END, ", and changed")
    stage.check("Tab leads to Save", window.tab_to("one.innerText === 'Save'"))
    with window.leaving():
        window.press(Keys.ENTER)
    stage.expect("it is saved", lambda: window.script("return document.querySelector('textarea').value")
                 == "By keyboard, and changed")
    stage.check("Tab leads to the choice of pictures", window.tab_to("one.id === 'files'"))


def every_control(stage):
    for name in Tour(stage).visit():
        for colours in [stage.first.dark, stage.first.light]:
            colours()
            count = stage.first.script(CONTROLS)
            # A field with a time has some parts, each with a Tab of its own.
            stage.first.press(*[Keys.TAB] * (2 * count + 12))
            seen = stage.first.script(REACHED)
            stage.check(f"Tab reaches each control of {name} and shows where it is ({colours.__name__})",
                        count > 0 and not seen["missed"] and not seen["faint"],
                        f"{count} controls" + "".join(f", {key}: {seen[key]}" for key in seen if seen[key]))


def narrow_windows(stage):
    tour = Tour(stage)
    stage.first.narrow()
    for name in tour.visit():
        width = stage.first.script("return document.documentElement.scrollWidth")
        outside = stage.first.script("""
            return [...document.querySelectorAll("body *")].filter(one => one.checkVisibility() &&
                !one.matches(".skip") && one.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
                .map(one => one.outerHTML.slice(0, 60))
            """)
        stage.check(f"{name} fits 320 pixels", width <= 320 and not outside, f"{width} {outside[:3] or ''}".strip())


def without_scripts(stage):
    """What is read, and the forms that are sent; adding pictures takes a script, and the page says so."""
    tour = Tour(stage)
    window = stage.first
    for name in tour.visit():
        window.scripts(False)
        if name != "verification":
            window.driver.refresh()
        stage.check(f"{name} is read without JavaScript", len(window.text("main")) > 20 and window.count("h1") == 1)
        window.scripts(True)
    window.scripts(False)
    window.open(tour.record)
    stage.expect("its pictures are seen", lambda: window.are_shown("#pictures img"))
    stage.check("and their badges", set(window.badges()) == {"remote"}, window.badges())
    stage.check("the page tells what is missing", "requires JavaScript" in window.text("main"))
    stage.check("and does not show it", window.count("#drop") == 0 or not window.one("#drop").is_displayed())
    window.open("/timeline")
    days = window.text("#timeline")
    window.submit("#older")
    stage.expect("the link to older days leads there", lambda: window.text("#timeline") not in ("", days))
    window.open("/")
    window.one("input[name=comment]").send_keys("Without a script")
    window.submit("form.start button")
    stage.expect("a record is started", lambda: "Without a script" in window.text("#running"))
    window.submit("#running article:last-of-type button")
    stage.expect("and stopped", lambda: "Without a script" not in window.text("#running")
                 and "Without a script" in window.text("#day"))
