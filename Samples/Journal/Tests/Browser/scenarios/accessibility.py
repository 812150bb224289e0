"""axe-core on each page, in the light and in the dark; and the way in."""

from contextlib import contextmanager

from selenium.webdriver.common.keys import Keys

from support.server import Server
from support.tour import Tour

PASSWORD = "twelve and more characters"


def check_page(stage, name):
    window = stage.first
    for colours, is_right in [(window.light, lambda one: one > 200), (window.dark, lambda one: one < 60)]:
        colours()
        back = window.script("return getComputedStyle(document.body).backgroundColor.match(/[0-9]+/g).map(Number)")
        stage.check(f"{name} is {colours.__name__} where that is wanted", all(map(is_right, back)), back)
        window.script(stage.axe)
        findings = window.driver.execute_async_script("""
            const done = arguments[0];
            axe.run(document, { resultTypes: ["violations"] }).then(({ violations, passes }) => done([passes.length,
                violations.map(one => ({ impact: one.impact, text: `${one.impact}: ${one.help} (${one.id}) at ` +
                    one.nodes.slice(0, 5).map(node => `${node.target} ${node.failureSummary}`).join("; ") }))]))
                .catch(error => done([0, [{ impact: "critical", text: String(error) }]]));
            """)
        passed, violations = findings
        serious = [one["text"] for one in violations if one["impact"] in ("serious", "critical")]
        stage.check(f"axe has nothing serious to say of {name} ({colours.__name__})", passed > 0 and not serious,
                    f"{passed} rules passed" + "".join(f"\n    {one['text']}" for one in violations))
    window.light()


def each_page(stage):
    for name in Tour(stage).visit():
        check_page(stage, name)


@contextmanager
def locked(stage):
    """A server with a password."""
    folder = stage.folder / "locked"
    folder.mkdir()
    (folder / "password").write_text(PASSWORD + "\n")
    server = Server(stage.server.journal, folder, arguments=["--password-file", str(folder / "password")])
    server.start()
    stage.first.begin(server.url)
    try:
        yield server
    finally:
        stage.first.driver.get("about:blank")
        stage.check("the server with a password ends at SIGTERM", server.stop() == 0)


def the_way_in(stage):
    window = stage.first
    with locked(stage) as server:
        window.open("/storage")
        stage.check("who has not logged in comes to the login page", window.location() == "/login", window.location())
        check_page(stage, "login")
        window.narrow()
        width = window.script("return document.documentElement.scrollWidth")
        stage.check("login fits 320 pixels", width <= 320, width)
        window.desktop()
        stage.check("its field is chosen already", window.script("return document.activeElement.name") == "password")
        with window.leaving():
            window.press("not that password", Keys.ENTER)
        stage.expect("a wrong password is refused with a sentence", lambda: window.text("[role=alert].bad") != "",
                     seen=lambda: window.text("[role=alert].bad"))
        with window.leaving():
            window.press(PASSWORD, Keys.ENTER)
        stage.expect("the right one leads to the journal", lambda: window.location() == "/" and "Running" in
                     window.text("main"))
        window.submit("header button")
        stage.expect("logging out leads out", lambda: window.location() == "/login")
        window.begin(server.url)
        window.open("/login")
        with window.leaving():
            window.press(PASSWORD, Keys.ENTER)
        stage.settle("somebody is in", lambda: window.location() == "/")
        away = server.storage.with_name("away")
        server.storage.rename(away)
        path = stage.record("Behind the door")
        window.choose(*stage.pictures(1))
        stage.expect("who is in is told of an outage", lambda: str(server.storage) in window.text("#outage"))
        window.submit("header button")
        stage.settle("logged out", lambda: window.location() == "/login")
        stage.check("who is not is told nothing of the storage, and shown no pages",
                    str(server.storage) not in window.text("body") and window.count("nav") == 0, window.text("body"))
        window.open(path)
        stage.check("nor shown a record", window.location() == "/login", window.location())
        away.rename(server.storage)
        window.open("/pictures")
        stage.check("and stays so", window.location() == "/login", window.location())
