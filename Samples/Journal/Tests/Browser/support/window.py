"""A window of Debian's Chromium, driven by Selenium."""

import base64
from contextlib import contextmanager

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from .report import until

ARGUMENTS = ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--window-size=1000,900", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions"]


class Window:
    def __init__(self):
        options = webdriver.ChromeOptions()
        for argument in ARGUMENTS:
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)
        self.driver.set_script_timeout(60)
        self.url = ""

    def begin(self, url):
        """As if it were a new window, for another server."""
        self.light(), self.desktop(), self.scripts(True)
        self.driver.delete_all_cookies()
        self.driver.get("about:blank")
        self.complaints()
        self.url = url

    # Pages

    def open(self, path):
        self.driver.get(self.url + path)

    def location(self):
        """The path of the page that is shown."""
        return self.driver.current_url.removeprefix(self.url)

    def script(self, text, *arguments):
        return self.driver.execute_script(text, *arguments)

    def texts(self, selector):
        """Read at once, for the page may change while one looks at it."""
        return self.script("return [...document.querySelectorAll(arguments[0])].map(one => one.innerText)", selector)

    def text(self, selector):
        return "\n".join(self.texts(selector))

    def count(self, selector):
        return len(self.texts(selector))

    def badges(self, selector="#pictures"):
        """The states of the badges in a part of the page, wherever the bytes are on this device."""
        return [state.removesuffix("-only") for state in self.states(selector)]

    def states(self, selector="#pictures"):
        return self.script("return [...document.querySelectorAll(arguments[0])].map(one => one.dataset.state)",
                           f"{selector} [data-badge]")

    def are_shown(self, selector="img"):
        """Whether all pictures have come, of which there has to be one."""
        return self.script(
            "const all = [...document.querySelectorAll(arguments[0])];"
            "return all.length > 0 && all.every(one => one.complete && one.naturalWidth > 0)", selector)

    def scroll_through(self):
        """So that pictures come that are loaded when they are seen."""
        self.script("document.querySelectorAll('img').forEach(one => one.scrollIntoView())")

    def complaints(self, *allowed):
        """What the console says since the last look, but for what a scenario brings about itself."""
        return [entry["message"] for entry in self.driver.get_log("browser")
                if entry["level"] == "SEVERE" and not any(text in entry["message"] for text in allowed)]

    # Hands

    def one(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def click(self, selector):
        """Clicks what is there, also when the page has just put another one in its place."""
        if until(lambda: self.one(selector).click() or True) is None:
            raise RuntimeError(f"There is no {selector} to click on {self.location()}.")

    @contextmanager
    def leaving(self):
        """Returns when what is done in it has led to another page, or the same one anew, which is there as a whole."""
        self.script("window.isLeft = true")
        yield
        if until(lambda: self.script("return !window.isLeft && document.readyState === 'complete'")) is None:
            raise RuntimeError(f"Nothing has led away from {self.location()}.")

    def submit(self, selector):
        """Clicks what sends a form or follows a link, and returns when that has led to a page."""
        with self.leaving():
            self.click(selector)

    def press(self, *keys):
        ActionChains(self.driver).send_keys(*keys).perform()

    def tab_to(self, condition):
        """Presses Tab until the script's condition on `one`, the focused element, is true; False if it never is."""
        for _ in range(200):
            self.press(Keys.TAB)
            if self.script(f"const one = document.activeElement; return {condition}"):
                return True
        return False

    def choose(self, *paths):
        self.one("#files").send_keys("\n".join(str(path) for path in paths))

    def drop(self, *paths):
        """Lets go of files over the page, as from a file manager."""
        self._hand_over("""
            const place = document.getElementById("drop");
            for (const type of ["dragenter", "dragover", "drop"])
                place.dispatchEvent(new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true }));
            """, paths)

    def paste(self, path):
        self._hand_over("""
            document.activeElement.dispatchEvent(
                new ClipboardEvent("paste", { clipboardData: dataTransfer, bubbles: true, cancelable: true }));
            """, [path])

    def _hand_over(self, event, paths):
        files = [[path.name, base64.b64encode(path.read_bytes()).decode()] for path in paths]
        self.script("""
            const dataTransfer = new DataTransfer();
            for (const [name, text] of arguments[0])
                dataTransfer.items.add(new File([Uint8Array.from(atob(text), one => one.charCodeAt(0))], name));
            """ + event, files)

    def digest(self, path):
        """The SHA-256 of what the server sends, past everything that the browser has kept."""
        return self.driver.execute_async_script("""
            const done = arguments[1];
            fetch(arguments[0], { cache: "reload" }).then(async reply => {
                if (!reply.ok) return done(`status ${reply.status}`);
                const hash = await crypto.subtle.digest("SHA-256", await reply.arrayBuffer());
                done([...new Uint8Array(hash)].map(one => one.toString(16).padStart(2, "0")).join(""));
            }).catch(error => done(String(error)));
            """, path)

    # Eyes

    def desktop(self):
        self.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})

    def narrow(self, width=320, height=640):
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})

    def light(self):
        self._colours("light")

    def dark(self):
        self._colours("dark")

    def _colours(self, name):
        # Without motion, so that no colour is on its way to another when it is looked at.
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [
            {"name": "prefers-color-scheme", "value": name}, {"name": "prefers-reduced-motion", "value": "reduce"}]})

    def scripts(self, are_on):
        self.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": not are_on})

    def picture(self, path):
        """The whole page, as far as it reaches."""
        size = self.driver.execute_cdp_cmd("Page.getLayoutMetrics", {})["cssContentSize"]
        # The picture has no scroll bar, and the page takes its room.
        width = max(size["width"], self.script("return innerWidth"))
        clip = {"x": 0, "y": 0, "width": width, "height": min(size["height"], 4000), "scale": 1}
        shot = self.driver.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip})
        path.write_bytes(base64.b64decode(shot["data"]))
