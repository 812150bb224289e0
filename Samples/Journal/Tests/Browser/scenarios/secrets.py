"""What the journal keeps sealed: the secret of its cookies, and the keys to a bucket."""

import subprocess

from selenium.webdriver.common.keys import Keys

from scenarios.accessibility import PASSWORD, locked
from support.bucket import Bucket
from support.server import Server


def log_in(window, password=PASSWORD):
    window.open("/login")
    with window.leaving():
        window.press(password, Keys.ENTER)


def run(server, *arguments, lines=()):
    """What `journal secrets` says, whatever it ends with."""
    ended = subprocess.run(
        [server.journal, "secrets", *arguments, "--database", str(server.folder / "journal.sqlite"), "--secrets",
         str(server.folder / "secrets")], input="".join(f"{line}\n" for line in lines), env=server.environment,
        capture_output=True, text=True, timeout=60)
    return f"{ended.returncode}: {ended.stdout}{ended.stderr}"


def restart(stage, server, between=lambda: None):
    stage.check("the server ends at SIGTERM", server.stop() == 0)
    between()
    server.start()


def is_in(window, path="/pictures"):
    window.open(path)
    return window.location() == path


def hold(folder, text):
    """The files of a folder that have a text in the clear."""
    return [str(path) for path in folder.rglob("*") if path.is_file() and text.encode() in path.read_bytes()]


def logged_in(stage):
    """Who is in stays in over a restart, until they log out, the password is another one, or the secrets begin anew."""
    window = stage.first
    with locked(stage) as server:
        log_in(window)
        stage.check("somebody is in", is_in(window))
        restart(stage, server)
        stage.check("a restart keeps them in", is_in(window))
        cookie = window.driver.get_cookie("journal")
        window.submit("header button")
        restart(stage, server)
        window.driver.add_cookie(cookie)
        stage.check("who has logged out is out, also with the cookie of before and after a restart", not is_in(window),
                    window.location())
        log_in(window)
        secrets, away = server.folder / "secrets", server.folder / "away"
        stage.check("the server ends at SIGTERM", server.stop() == 0)
        secrets.rename(away)
        try:
            server.start()
            said = "it started"
        except RuntimeError as error:
            said = str(error)
        stage.check("without its secrets it does not start, and says what to do", "journal secrets adopt" in said, said)
        server.process.wait()
        stage.check("it has not made others in their place", not secrets.exists() or not any(
            path.stat().st_size for path in secrets.rglob("*") if path.is_file() and path.name != "lock"))
        subprocess.run(["rm", "-rf", str(secrets)], check=True)
        away.rename(secrets)
        server.start()
        stage.check("with them back, who was in is in", is_in(window))
        other = "another one, just as long"
        restart(stage, server, lambda: (server.folder / "password").write_text(other + "\n"))
        stage.check("another password ends it", not is_in(window), window.location())
        log_in(window)
        stage.check("the password of before does not lead in", not is_in(window), window.location())
        log_in(window, other)
        stage.check("the new one does", is_in(window))

        def begin_anew():
            secrets.rename(away)
            said = run(server, "adopt")
            stage.check("secrets that are gone for good begin anew", said.startswith("0: "), said)

        restart(stage, server, begin_anew)
        stage.check("and all have to log in again", not is_in(window), window.location())
        log_in(window, other)
        stage.check("which they can", is_in(window))
        stage.check("the password is nowhere but in its own file", hold(server.folder, other)
                    == [str(server.folder / "password")], hold(server.folder, other))


def keys_to_a_bucket(stage):
    """A bucket whose keys are in no environment and no command line."""
    bucket = Bucket()
    folder = stage.folder / "sealed"
    folder.mkdir()
    names = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"]
    keys = [bucket.environment[name] for name in names]
    without = {name: value for name, value in bucket.environment.items() if name not in names}
    # Neither are they in those of the machine.
    server = Server(stage.server.journal, folder, bucket.storage, environment={**without, "HOME": str(folder)})
    stage.server.stop()
    stage.server = server
    made = Server(server.journal, folder, environment=server.environment)
    made.start()
    made.stop()
    stage.check("there are no keys at first", "none" in run(server, "show"), run(server, "show"))
    said = run(server, "set-storage", lines=keys)
    stage.check("they are taken from the standard input", said.startswith("0: "), said)
    said = run(server, "show")
    stage.check("they are told to be kept, and not shown", "stored" in said and keys[1] not in said, said)
    run(server, "set-storage", lines=keys)
    server.start()
    window = stage.first
    window.begin(server.url)
    stage.record()
    window.choose(*stage.pictures(1))
    stage.expect("a picture reaches the bucket with them", lambda: window.badges() == ["remote"], seen=window.badges)
    stage.check("another client sees it", len(bucket.objects()) == 1)
    stage.check("the secret key is nowhere in the clear", not hold(folder, keys[1]), hold(folder, keys[1]))
    window.driver.get("about:blank")
    server.stop()
    said = run(server, "remove-storage")
    stage.check("they can be removed", said.startswith("0: ") and "none" in run(server, "show"), said)
    try:
        server.start()
        said = "it started"
    except RuntimeError as error:
        said = str(error)
    said = said.splitlines()[-1]
    stage.check("without them the server does not start, and says what it wants", "set-storage" in said, said)
    run(server, "set-storage", lines=keys)
    server.start()
    window.begin(server.url)
