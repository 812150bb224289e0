"""Pictures to attach, which are made and not shipped."""

import os
import struct
import zlib


def png(number, side=200, filling=0):
    """A picture of one colour, another one for each number, with as many random bytes in it as nobody looks at."""
    colour = bytes([40 * number % 256, 90 * number % 256, 200])
    rows = b"".join(b"\0" + colour * side for _ in range(side))
    head = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    sizes = [min(filling - start, 1 << 20) for start in range(0, filling, 1 << 20)]
    middle = b"".join(_chunk(b"ruSt", os.urandom(size)) for size in sizes)
    return (b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", head) + middle + _chunk(b"IDAT", zlib.compress(rows))
            + _chunk(b"IEND", b""))


def _chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
