#!/usr/bin/env python3
"""Copies a folder into a bucket with obstore (Rust's object_store), a peer to measure the uploader against.

  obstore-copy.py FOLDER BUCKET PREFIX CONNECTIONS

Endpoint, region and credentials come from AWS_ENDPOINT_URL, AWS_REGION, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.
A file of more than 8 MiB goes up in parts, CONNECTIONS of them at once, and one such file at a time; smaller ones go
whole, CONNECTIONS at once. Status 1 if any file failed.
"""

import asyncio
import os
import sys
from pathlib import Path

import obstore
from obstore.store import S3Store

PART = 8 << 20


async def copy(folder, store, connections):
    files = [path for path in folder.rglob("*") if path.is_file()]
    small = [path for path in files if path.stat().st_size <= PART]
    large = [path for path in files if path.stat().st_size > PART]
    failed = []

    async def put(path, content, **options):
        try:
            await obstore.put_async(store, path.relative_to(folder).as_posix(), content, **options)
        except Exception as error:  # obstore's errors and the file system's: the run goes on and counts them
            failed.append(path)
            print(f"{path}: {error}", file=sys.stderr)

    async def worker(queue):
        while queue:
            path = queue.pop()
            await put(path, path.read_bytes())

    await asyncio.gather(*[worker(small) for _ in range(connections)])
    for path in large:
        with path.open("rb") as file:
            await put(path, file, chunk_size=PART, max_concurrency=connections)
    return failed


def main():
    folder, bucket, prefix, connections = sys.argv[1:]
    endpoint = os.environ["AWS_ENDPOINT_URL"]
    store = S3Store(bucket, prefix=prefix, endpoint=endpoint, client_options={"allow_http": True})
    return 1 if asyncio.run(copy(Path(folder), store, int(connections))) else 0


if __name__ == "__main__":
    status = main()
    sys.stderr.flush()
    # One of obstore's threads may still be in the call that woke the event loop up. It takes the interpreter's lock again
    # after that, and if the interpreter is shutting down by then, the process ends with signal 6.
    os._exit(status)
