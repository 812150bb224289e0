"""The page with all pictures: the viewer, the selection, the search, and the way back of what was deleted."""

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

CAPTION = "return document.querySelector('.viewer span').textContent"
CHOSEN = "return document.querySelectorAll('#chosen input[name=picture]:checked').length"


def viewer(stage):
    window = stage.first
    stage.record_with(*stage.pictures(3), comment="By the sea")
    window.open("/pictures")
    window.click("#timeline li:first-child figure > a")
    stage.expect("a click opens the viewer", lambda: window.count(".viewer[open]") == 1)
    stage.check("the page stays", window.location() == "/pictures", window.location())
    first = window.script(CAPTION)
    window.press(Keys.ARROW_RIGHT)
    stage.expect("the right arrow shows the next picture", lambda: window.script(CAPTION) != first)
    window.press(Keys.ARROW_LEFT)
    stage.expect("the left arrow leads back", lambda: window.script(CAPTION) == first)
    stage.expect("the picture has come", lambda: window.are_shown(".viewer img"))
    window.press("+")
    stage.check("plus zooms", "scale(1.5)" in window.script(
        "return document.querySelector('.viewer img').style.transform"))
    window.press(Keys.ESCAPE)
    stage.expect("Escape closes the viewer", lambda: window.count(".viewer[open]") == 0)
    stage.check("the focus is on its picture again", window.script(
        "return document.activeElement.matches('figure > a')"))
    stage.check("the browser does not complain", not window.complaints())


def selection(stage):
    window = stage.first
    stage.record_with(*stage.pictures(4), comment="By the sea")
    window.open("/pictures")

    def boxes():
        return window.driver.find_elements("css selector", "#chosen .choose")

    def choose_first():
        boxes()[0].click()
        return True

    # A page that has just opened may take the pictures again. It keeps them while one is chosen.
    stage.settle("the first picture is chosen", choose_first)
    ActionChains(window.driver).key_down(Keys.SHIFT).click(boxes()[2]).key_up(Keys.SHIFT).perform()
    stage.check("a click with Shift chooses all between", window.script(CHOSEN) == 3, window.script(CHOSEN))
    window.click(".selection button[type=reset]")
    stage.check("they can be left again", window.script(CHOSEN) == 0, window.script(CHOSEN))
    first, second = boxes()[:2]
    ActionChains(window.driver).click_and_hold(first).move_to_element(second).release().perform()
    stage.check("a drag chooses the pictures below it", window.script(CHOSEN) == 2, window.script(CHOSEN))
    window.submit(".selection button[formaction]")
    stage.check("the chosen ones are deleted", window.location() == "/trash" and window.count("figure") == 2)
    stage.check("the storage still has them", len(stage.server.objects()) == 4, stage.server.objects())
    window.submit("#trash li:first-child form[action='/trash/restore'] button")
    window.open("/pictures")
    stage.check("one is restored", window.count("figure") == 3, window.count("figure"))
    window.one("input[name=q]").send_keys("sea", Keys.ENTER)
    stage.expect("the search finds their record", lambda: "3 pictures found" in window.text("main"))
    window.open("/pictures?q=mountain")
    stage.check("and nothing else", "0 pictures found" in window.text("main") and window.count("figure") == 0)
    stage.check("the browser does not complain", not window.complaints())
