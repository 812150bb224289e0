"""The page with the settings: what it changes is seen in all windows at once."""


def pick(window, name, value):
    window.script("""
        const field = document.querySelector(`[name="${arguments[0]}"]`);
        if (field.type === "checkbox") field.checked = arguments[1]; else field.value = arguments[1];
        """, name, value)


def looks(window):
    return window.script("return document.documentElement.className").split()


def settings(stage):
    first, second = stage.windows
    path = stage.record_with(*stage.pictures(2, side=2000))
    stage.settle("both are remote", lambda: first.badges() == ["remote"] * 2)
    second.open(path)
    first.open("/settings")
    for name, value in [("theme", "dark"), ("color", "green"), ("tiles", "2"), ("badges", False)]:
        pick(first, name, value)
    first.submit("#view button.main")
    wanted = {"theme-dark", "color-green", "tiles-2", "no-badges"}
    stage.check("a page looks as it is set", wanted <= set(looks(first)), looks(first))
    stage.expect("another window looks so at once", lambda: wanted <= set(looks(second)), 5, lambda: looks(second))
    back = second.script("return getComputedStyle(document.body).backgroundColor.match(/[0-9]+/g).map(Number)")
    stage.check("it is dark in a browser that wants light", all(one < 60 for one in back), back)
    tiles = second.script("return getComputedStyle(document.querySelector('.grid')).gridTemplateColumns.split(' ').length")
    stage.check("two pictures stand beside each other", tiles == 2, tiles)
    stage.check("tiles tell no more where pictures are", not any(
        one.is_displayed() for one in second.driver.find_elements("css selector", "figure .badge")))
    second.open("/settings")
    pick(second, "tiles", "7")
    pick(first, "theme", "light")
    first.submit("#view button.main")
    value = "return document.querySelector('[name=theme]').value"
    stage.expect("an open form takes what is saved elsewhere", lambda: second.script(value) == "light", 5)
    stage.check("and keeps what is being changed in it", second.script(
        "return document.querySelector('[name=tiles]').value") == "7")
    second.submit("#view button.main")
    stage.check("both count then", {"theme-light", "tiles-7"} <= set(looks(second)), looks(second))
    view = first.script("return fetch(arguments[0]).then(reply => reply.text()).then(text => "
                        "text.match(/href=\"([^\"]+view)\"/)[1])", path)
    width = "return document.querySelector('.single img').naturalWidth"
    first.open(view)
    stage.expect("the page of a picture shows a preview", lambda: first.script(width) == 1440, 10,
                 lambda: first.script(width))
    first.open("/settings")
    pick(first, "original", True)
    first.submit("#view button.main")
    first.open(view)
    stage.expect("and the picture itself where that is set", lambda: first.script(width) == 2000, 10,
                 lambda: first.script(width))
    stage.check("neither browser complains", not first.complaints() and not second.complaints())
    stage.server.stop()
    stage.server.start()
    first.open("/settings")
    stage.check("a restart keeps it", {"theme-light", "color-green"} <= set(looks(first)), looks(first))


def folders(stage):
    """A folder of pictures that is backed up, in a server that allows it."""
    window, photos = stage.first, stage.folder / "photos" / "camera"
    photos.mkdir(parents=True)
    window.open("/settings")
    stage.check("without the option the page has no folders", window.count("input[name=path]") == 0)
    window.driver.get("about:blank")
    stage.server.stop()
    stage.server.arguments += ["--backup-root", str(photos.parent)]
    stage.server.start()
    for path in stage.pictures(2):
        path.rename(photos / path.name)
    window.open("/settings")
    window.one("input[name=path]").send_keys("/etc")
    window.submit("#group button")
    stage.check("a folder elsewhere is refused with a sentence", "is not a folder in" in window.text("main"),
                window.text("main"))
    window.open("/settings")
    window.one("input[name=path]").send_keys(str(photos))
    window.submit("#group button")
    stage.check("a folder is on the list", str(photos) in window.text("#backup-state"))
    window.submit("#backup-state form[action$=run] button")
    stage.expect("it is backed up, and the page tells so", lambda: "included (last " in window.text("#backup-state")
                 and "2 new pictures" in window.text("#backup-state"), 20, lambda: window.text("#backup-state"))
    window.open("/pictures")
    stage.expect("its pictures are those of the journal", lambda: window.count("figure") == 2 and window.are_shown())
    stage.expect("and come to the storage", lambda: set(window.badges("main")) == {"remote"}, 20)
