"""What is stored: containers, blobs, blocks that are not committed. Bytes stand in files of one folder.

One lock guards everything but the bytes, which never change once they are written.
"""
import email.utils
import hashlib
import itertools
import os
import threading

from azure.storage.extensions.checksums import crc64


class Segment:
    """Bytes in a file, which goes with the last reference."""

    def __init__(self, path, size, md5, crc):
        self.path, self.size, self.md5, self.crc = path, size, md5, crc

    def __del__(self):
        try:
            os.unlink(self.path)
        except OSError:
            pass  # the folder went first

    def read(self, first, end):
        with open(self.path, "rb") as file:
            file.seek(first)
            while first < end:
                data = file.read(min(1 << 20, end - first))
                if not data:
                    raise OSError("the bytes are gone")
                first += len(data)
                yield data


class Blob:
    def __init__(self, segments, blocks, fields, metadata, md5, now, created=None):
        self.segments = segments
        # The ids and sizes, in order; empty for a blob that came in one piece.
        self.blocks = blocks
        self.fields, self.metadata, self.md5 = fields, metadata, md5
        self.size = sum(segment.size for segment in segments)
        self.modified = now
        self.created = created or now
        self.tag = None

    def read(self, first, end):
        start = 0
        for segment in self.segments:
            low, high = max(first, start), min(end, start + segment.size)
            if low < high:
                yield from segment.read(low - start, high - start)
            start += segment.size


class Container:
    def __init__(self, now, metadata):
        self.modified, self.metadata = now, metadata
        self.tag = "0x8D0000000000000"
        self.blobs = {}
        # By the blob's name: when the first came, and the blocks by id.
        self.uncommitted = {}


class Store:
    def __init__(self, folder):
        self.folder = folder
        self.lock = threading.RLock()
        self.containers = {}
        self.numbers = itertools.count(1)

    def next_tag(self):
        return f"0x8D{next(self.numbers):013X}"

    def receive(self, pieces):
        """Writes what comes to a file of its own, with its checksums."""
        path = os.path.join(self.folder, str(next(self.numbers)))
        size, crc, md5 = 0, 0, hashlib.md5()
        try:
            with open(path, "wb") as file:
                for piece in pieces:
                    file.write(piece)
                    md5.update(piece)
                    crc = crc64.compute(piece, crc)
                    size += len(piece)
        except BaseException:
            os.unlink(path)
            raise
        return Segment(path, size, md5.digest(), crc.to_bytes(8, "little"))


def http_date(moment):
    return email.utils.formatdate(moment, usegmt=True)
