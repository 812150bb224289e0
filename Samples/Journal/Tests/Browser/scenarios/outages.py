"""A storage that goes away and comes back, and a server that is killed."""

from support.report import until

SIZE = 48 << 20


def storage_away(stage):
    pictures = stage.pictures(3)
    path = stage.record_with(pictures[0])
    # As a disk that is pulled out.
    away = stage.server.storage.with_name("away")
    stage.server.storage.rename(away)
    stage.first.choose(pictures[1])
    stage.expect("without the storage a picture waits", lambda: stage.first.badges() == ["remote", "waiting"],
                 seen=stage.first.badges)
    stage.expect("every page tells of the outage, as it happens",
                 lambda: "does not exist" in stage.first.text("#outage"), seen=lambda: stage.first.text("#outage"))
    stage.second.open("/storage")
    stage.expect("the storage page tells why", lambda: f"{stage.server.storage} does not exist" in stage.second.text(
        "#waiting .reason"), seen=lambda: stage.second.text("#waiting .waiting").replace("\n", " "))
    away.rename(stage.server.storage)
    stage.expect("with the storage back it goes on by itself", lambda: stage.first.badges() == ["remote"] * 2, 60)
    stage.expect("the outage is over on every page", lambda: not any(
        window.text("#outage") for window in stage.windows))
    stage.expect("the storage page shows that nothing waits", lambda: "Everything is on the storage" in
                 stage.second.text("#waiting"))
    stage.second.submit("form[action='/storage/pause'] button")
    stage.settle("the uploads are paused", lambda: "Uploads are paused" in stage.second.text("#waiting"))
    stage.first.choose(pictures[2])
    stage.expect("while uploads are paused a picture waits", lambda: stage.first.badges()[2:] == ["held"])
    stage.expect("and the storage page tells why", lambda: "Uploads are paused." in stage.second.text(
        "#waiting .reason"))
    stage.second.submit("form[action='/storage/resume'] button")
    stage.expect("it goes on when asked", lambda: stage.first.badges() == ["remote"] * 3, seen=stage.first.badges)
    stage.check("the record is still the one that was opened", stage.first.location() == path)
    complaints = [text for window in stage.windows for text in window.complaints()]
    stage.check("neither browser complains", not complaints, "; ".join(complaints[:3]))


def killed_in_an_upload(stage):
    """Large pictures, since only they take long enough to be in the middle of."""
    path = stage.record()
    server, count = stage.server, 0
    while count < 8:
        count += 1
        stage.first.choose(*stage.pictures(1, filling=SIZE))
        # The object stands under another name until it is whole; then the moment is over.
        before = len(server.objects())
        until(lambda: server.unfinished() or len(server.objects()) > before)
        server.freeze()
        if any(0 < size < SIZE for size in server.unfinished()):
            break
        server.thaw()
        stage.settle("the picture is remote", lambda: stage.first.badges() == ["remote"] * count)
    stage.check("the server is killed in the middle of an upload", any(0 < size < SIZE for size in server.unfinished()),
                f"{server.unfinished()} of {SIZE} bytes are on the storage, at picture {count}")
    server.kill()
    stage.expect("the open page tells that the server does not answer",
                 lambda: "does not answer" in stage.first.text("#message"))
    server.start()
    stage.expect("started again, the upload reaches remote in the open page",
                 lambda: stage.first.badges() == ["remote"] * count, 60, stage.first.badges)
    stage.expect("the message is gone", lambda: stage.first.text("#message") == "")
    sizes = server.objects()
    stage.check("every object is whole, and none is there twice",
                len(sizes) == count and all(size > SIZE for size in sizes), sizes)
    stage.check("nothing unfinished is left", not server.unfinished(), server.unfinished())
    stage.first.choose(*stage.pictures(1))
    stage.expect("the open page takes pictures as before", lambda: stage.first.badges() == ["remote"] * (count + 1),
                 seen=lambda: f"{stage.first.badges()} {stage.first.text('#uploads')}")
    stage.first.one("textarea").send_keys(" and on")
    stage.first.submit("form.edit button")
    stage.expect("and so do its forms", lambda: stage.first.location() == path and stage.first.script(
        "return document.querySelector('textarea').value") == "A walk and on", 5,
        lambda: stage.first.text("main")[:200])
