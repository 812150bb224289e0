"""A bucket in the place of the storage folder."""

import hashlib

from support.bucket import Bucket
from support.server import Server


def on_a_bucket(stage):
    bucket = Bucket()
    folder = stage.folder / "bucket"
    folder.mkdir()
    server = Server(stage.server.journal, folder, bucket.storage, environment=bucket.environment)
    server.start()
    stage.server.stop()
    stage.server = server
    window = stage.first
    window.begin(server.url)
    [picture] = stage.pictures(1, filling=9 << 20)
    path = stage.record()
    window.choose(picture)
    stage.expect("a picture reaches remote on a bucket", lambda: window.badges() == ["remote"], seen=window.badges)
    keys = bucket.objects()
    stage.check("another client sees its object", len(keys) == 1 and keys[0].startswith("pictures/"), keys)
    window.open("/storage/free?keep=0")
    window.submit("main form button")
    stage.expect("its local copy is freed", lambda: not server.local_copies(), seen=server.local_copies)
    window.open(path)
    image = window.script("return document.querySelector('#pictures figure > a').parentElement.dataset.original")
    stage.check("it comes from the bucket, byte for byte", window.digest(image)
                == hashlib.sha256(picture.read_bytes()).hexdigest())
    window.open(image)
    stage.expect("it is seen", window.are_shown)
    window.open(path)
    window.click("input[name=sure]")
    window.submit("section[aria-labelledby=delete-title] button")
    stage.expect("the object of a deleted record goes from the bucket", lambda: not bucket.objects(),
                 seen=bucket.objects)
    # The page of the record may look for itself once more before it is left.
    complaints = window.complaints("status of 404")
    stage.check("the browser complains of nothing", not complaints, "; ".join(complaints[:3]))
