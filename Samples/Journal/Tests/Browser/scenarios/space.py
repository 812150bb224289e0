"""Local copies that are freed, and records that are deleted."""

import hashlib


def freed_and_deleted(stage):
    pictures = stage.pictures(3)
    path = stage.record_with(*pictures)
    stage.first.open("/storage")
    keep = stage.first.one("input[name=keep]")
    keep.clear()
    keep.send_keys("0")
    stage.first.submit("form[action='/storage/free'] button")
    stage.expect("what would be freed is shown first", lambda: "3 pictures with" in stage.first.text("main"),
                 seen=lambda: stage.first.text("main p").split("\n")[0])
    stage.check("and is still here", len(stage.server.local_copies()) == 3, stage.server.local_copies())
    stage.first.submit("main form button")
    stage.expect("then it is freed", lambda: "Removed 3 pictures" in stage.first.text("main"))
    stage.check("no local copy is left", not stage.server.local_copies(), stage.server.local_copies())

    links = "return [...document.querySelectorAll('#pictures figure > a')].map(one => one.parentElement.dataset.original)"
    stage.first.open(path)
    stage.check("its badges are remote only", stage.first.states() == ["remote-only"] * 3, stage.first.states())
    images = stage.first.script(links)
    # They are sent three at a time, so that their order is that of their arrival.
    wanted = {hashlib.sha256(picture.read_bytes()).hexdigest() for picture in pictures}
    got = {stage.first.digest(image) for image in images}
    stage.check("the pictures come from the storage, byte for byte", got == wanted, f"{len(got & wanted)} of 3")
    stage.first.open(images[0])
    stage.expect("one of them is seen in the whole window", stage.first.are_shown)

    stage.first.open(path)
    stage.second.open("/timeline")
    stage.settle("the record is on the timeline", lambda: stage.second.count("article") == 1)
    stage.first.submit("#pictures li:first-child form button")
    stage.expect("a deleted picture can be restored", lambda: stage.first.count(".undo button") == 1)
    stage.first.submit(".undo button")
    stage.expect("the undo brings it back", lambda: stage.first.count("#pictures figure") == 3)
    stage.first.open(path)
    stage.first.submit("#pictures li:first-child form button")
    stage.first.open("/trash")
    stage.check("its object stays on the storage", len(stage.server.objects()) == 3, stage.server.objects())
    stage.first.submit("form[action='/trash/delete'] button")
    stage.first.open(path)
    stage.expect("the object of a deleted picture goes from the storage", lambda: len(stage.server.objects()) == 2,
                 seen=stage.server.objects)
    stage.settle("two are left", lambda: stage.first.count("#pictures figure") == 2)
    stage.first.click("input[name=sure]")
    stage.first.submit("section[aria-labelledby=delete-title] button")
    stage.expect("the objects of a deleted record go from the storage", lambda: not stage.server.objects(),
                 seen=stage.server.objects)
    stage.check("nor is a local copy left", not stage.server.local_copies(), stage.server.local_copies())
    stage.expect("the record is gone from the timeline, also in the other window", lambda: all(
        window.location() == "/timeline" and window.count("article") == 0 for window in stage.windows), 5,
        lambda: stage.second.text("article").replace("\n", " "))
    stage.first.open("/storage")
    stage.first.submit("form[action='/storage/verify'] button")
    stage.expect("verifying finds nothing", lambda: "No problems are left" in stage.first.text("main"),
                 seen=lambda: stage.first.text("main .findings"))
    complaints = stage.first.complaints("status of 404")
    stage.check("the browser complains of nothing", not complaints, "; ".join(complaints[:3]))


def deleted_elsewhere(stage):
    path = stage.record()
    stage.second.open(path)
    stage.first.click("input[name=sure]")
    stage.first.submit("section[aria-labelledby=delete-title] button")
    stage.expect("a page whose record was deleted in another window tells so",
                 lambda: "was deleted" in stage.second.text("#message"), 5, lambda: stage.second.text("#message"))
