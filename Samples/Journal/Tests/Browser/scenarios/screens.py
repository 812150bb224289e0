"""Pictures of all pages, for people to look at."""

from support.tour import Tour

from .accessibility import locked


def screens(stage):
    """Takes each page in the light, in the dark and 320 pixels wide, and puts the pictures into the stage's folder."""
    for name in Tour(stage).visit():
        take(stage, name)
    with locked(stage):
        stage.first.open("/login")
        take(stage, "login")


def take(stage, name):
    window = stage.first
    for how, prepare in [("light", window.light), ("dark", window.dark), ("narrow", window.narrow)]:
        if how == "narrow":
            window.light()
        prepare()
        window.scroll_through()
        stage.settle(f"the pictures of {name} have come", lambda: window.count("img") == 0 or window.are_shown())
        window.script("scrollTo(0, 0)")
        window.picture(stage.screens / f"{name} {how}.png")
    window.desktop()
