"""What the service does with containers and blobs, by its REST reference.

An operation takes a call and returns status, header fields and body. The body is bytes, or pairs of a length and pieces.
"""
import base64
import binascii
import re
import xml.etree.ElementTree as ElementTree

import listing
from refusals import Refusal, bad_header, bad_query, missing_blob
from store import Blob, Container, http_date

FIELDS = ("content-type", "content-encoding", "content-language", "cache-control", "content-disposition")
LARGEST_PUT = 5000 << 20
LARGEST_BLOCK = 4000 << 20


class Call:
    def __init__(self, request, store, receive, allows, now, endpoint):
        self.request, self.store, self.now, self.endpoint = request, store, now, endpoint
        # Takes the body, once; tells whether a permission is there.
        self.receive, self.allows = receive, allows

    @property
    def container(self):
        found = self.store.containers.get(self.request.container)
        if found is None:
            raise Refusal(404, "ContainerNotFound", "The specified container does not exist.")
        return found

    def blob(self):
        found = self.container.blobs.get(self.request.blob)
        if found is None:
            raise missing_blob()
        return found


def match(field, tag):
    return field == "*" or tag in [item.strip().removeprefix("W/").strip('"') for item in field.split(",")]


def check_reading(call, blob):
    """The conditions of a request that reads or deletes."""
    if_match, if_none = call.request.header("if-match"), call.request.header("if-none-match")
    if if_match and not match(if_match, blob.tag):
        raise not_met(412)
    if if_none and match(if_none, blob.tag):
        raise not_met(304 if call.request.method in ("GET", "HEAD") else 412)


def check_writing(call):
    """The conditions of a request that makes a blob, and whether it may replace one."""
    blob = call.container.blobs.get(call.request.blob)
    if_match, if_none = call.request.header("if-match"), call.request.header("if-none-match")
    if if_match and (blob is None or not match(if_match, blob.tag)):
        raise not_met(412)
    if blob is None:
        return
    if if_none == "*":
        raise Refusal(409, "BlobAlreadyExists", "The specified blob already exists.")
    if if_none and match(if_none, blob.tag):
        raise not_met(412)
    if not call.allows("w"):
        raise Refusal(
            403, "UnauthorizedBlobOverwrite", "This request is not authorized to perform blob overwrites.")


def not_met(status):
    return Refusal(
        status, "ConditionNotMet", "The condition specified using HTTP conditional header(s) is not met.")


def decoded(name, text, length, code):
    try:
        value = base64.b64decode(text, validate=True)
    except (ValueError, binascii.Error):
        value = b""
    if len(value) != length:
        raise Refusal(400, code, f"The value of {name} is invalid.", fields={"HeaderName": name})
    return value


def received(call, most, md5_field=None):
    """The body, after its checksums were compared with those that came along."""
    request = call.request
    if request.content_length > most:
        raise Refusal(413, "RequestBodyTooLarge", "The request body is too large.")
    md5 = (md5_field and request.header(md5_field)) or request.header("content-md5")
    crc = request.header("x-ms-content-crc64")
    if md5 and crc:
        raise Refusal(
            400, "BothCrc64AndMd5HeaderPresent", "Both x-ms-content-crc64 header and content-md5 header are present.")
    md5 = md5 and decoded("Content-MD5", md5, 16, "InvalidMd5")
    crc = crc and decoded("x-ms-content-crc64", crc, 8, "InvalidHeaderValue")
    segment = call.receive()
    if md5 and md5 != segment.md5:
        raise Refusal(
            400, "Md5Mismatch", "The MD5 value specified in the request did not match with the MD5 value calculated "
            "by the server.")
    if crc and crc != segment.crc:
        raise Refusal(
            400, "Crc64Mismatch", "The CRC64 value specified in the request did not match with the CRC64 value "
            "calculated by the server.")
    return segment


def text(value):
    return base64.b64encode(value).decode()


def fields_of(request, also_plain):
    found = {}
    for name in FIELDS:
        value = request.header("x-ms-blob-" + name) or (also_plain and request.header(name))
        if value:
            found[name] = value
    return {"content-type": "application/octet-stream"} | found


def keep(call, blob):
    """Puts a blob into its place. Blocks that were not committed go."""
    container, name = call.container, call.request.blob
    former = container.blobs.get(name)
    if former:
        blob.created = former.created
    blob.tag = call.store.next_tag()
    container.blobs[name] = blob
    container.uncommitted.pop(name, None)
    return {"ETag": f'"{blob.tag}"', "Last-Modified": http_date(blob.modified), "x-ms-request-server-encrypted": "true"}


def put_blob(call):
    request = call.request
    kind = request.required("x-ms-blob-type")
    if kind != "BlockBlob":
        raise bad_header("x-ms-blob-type", kind)
    metadata = request.metadata()
    check_writing(call)  # before the body, as far as it shows
    segment = received(call, LARGEST_PUT, "x-ms-blob-content-md5")
    with call.store.lock:
        check_writing(call)
        blob = Blob([segment], [], fields_of(request, also_plain=True), metadata, segment.md5, call.now)
        headers = keep(call, blob)
    return 201, headers | {"Content-MD5": text(segment.md5), "x-ms-content-crc64": text(segment.crc)}, b""


def put_block(call):
    request = call.request
    name = request.query.get("blockid", "")
    try:
        length = len(base64.b64decode(name, validate=True))
    except (ValueError, binascii.Error):
        raise bad_query("blockid", name) from None
    if not 1 <= length <= 64:
        raise bad_query("blockid", name, "OutOfRangeQueryParameterValue")
    call.container  # it has to be there before the body is read
    if request.content_length == 0:
        raise bad_header("Content-Length", "0")
    segment = received(call, LARGEST_BLOCK)
    with call.store.lock:
        blob = call.container.blobs.get(request.blob)
        _, there = call.container.uncommitted.setdefault(request.blob, (call.now, {}))
        known = list(there) + [name for name, _ in (blob.blocks if blob else [])]
        if known and len(known[0]) != len(name):
            raise Refusal(400, "InvalidBlobOrBlock", "The specified blob or block content is invalid.")
        if len(there) >= 100_000:
            raise Refusal(409, "RequestEntityTooLargeBlockCountExceedsLimit", "The uncommitted block count is too large.")
        there[name] = segment
    # One of the two: the MD5 only where the request had it.
    if request.header("content-md5"):
        return 201, {"Content-MD5": text(segment.md5)}, b""
    return 201, {"x-ms-content-crc64": text(segment.crc)}, b""


def put_block_list(call):
    request = call.request
    metadata = request.metadata()
    segment = received(call, 8 << 20)
    try:
        root = ElementTree.fromstring(b"".join(segment.read(0, segment.size)))
    except ElementTree.ParseError:
        raise Refusal(400, "InvalidXmlDocument", "The specified XML is not syntactically valid.") from None
    if root.tag != "BlockList":
        raise Refusal(400, "InvalidXmlDocument", "The specified XML is not syntactically valid.")
    if len(root) > 50_000:
        raise Refusal(400, "BlockListTooLong", "The block list may not contain more than 50,000 blocks.")
    with call.store.lock:
        check_writing(call)
        blob = call.container.blobs.get(request.blob)
        committed = dict(zip([name for name, _ in blob.blocks], blob.segments)) if blob else {}
        _, there = call.container.uncommitted.get(request.blob, (0, {}))
        sources = {"Committed": [committed], "Uncommitted": [there], "Latest": [there, committed]}
        blocks, segments = [], []
        for element in root:
            if element.tag not in sources:
                raise Refusal(400, "InvalidXmlNodeValue", "The value of an XML node is invalid.")
            name = (element.text or "").strip()
            found = next((source[name] for source in sources[element.tag] if name in source), None)
            if found is None:
                raise Refusal(400, "InvalidBlockList", "The specified block list is invalid.")
            blocks.append((name, found.size))
            segments.append(found)
        # Stored as it came: nobody compares it with the bytes.
        md5 = request.header("x-ms-blob-content-md5")
        md5 = md5 and decoded("x-ms-blob-content-md5", md5, 16, "InvalidMd5")
        headers = keep(call, Blob(segments, blocks, fields_of(request, also_plain=False), metadata, md5, call.now))
    if request.header("content-md5"):
        return 201, headers | {"Content-MD5": text(segment.md5)}, b""
    return 201, headers | {"x-ms-content-crc64": text(segment.crc)}, b""


def get_block_list(call):
    kind = call.request.query.get("blocklisttype", "committed")
    if kind not in ("committed", "uncommitted", "all"):
        raise bad_query("blocklisttype", kind)
    blob = call.container.blobs.get(call.request.blob)
    there = call.container.uncommitted.get(call.request.blob)
    if blob is None and there is None:
        raise missing_blob()
    headers = {"Content-Type": "application/xml"}
    if blob:
        headers |= {
            "ETag": f'"{blob.tag}"', "Last-Modified": http_date(blob.modified),
            "x-ms-blob-content-length": str(blob.size)}
    blocks = [(name, segment.size) for name, segment in there[1].items()] if there else []
    return 200, headers, listing.blocks(kind, blob.blocks if blob else [], blocks)


def described(blob):
    headers = {name.title(): value for name, value in blob.fields.items()}
    headers |= {"x-ms-meta-" + name: value for name, value in blob.metadata.items()}
    return headers | {
        "ETag": f'"{blob.tag}"', "Last-Modified": http_date(blob.modified), "Accept-Ranges": "bytes",
        "x-ms-blob-type": "BlockBlob", "x-ms-creation-time": http_date(blob.created), "x-ms-lease-status": "unlocked",
        "x-ms-lease-state": "available", "x-ms-server-encrypted": "true"}


def get_blob(call):
    request, blob = call.request, call.blob()
    check_reading(call, blob)
    headers = described(blob)
    span = request.range(blob.size)
    if request.method == "HEAD" or span is None:
        if blob.md5:
            headers["Content-MD5"] = text(blob.md5)
        headers["Content-Length"] = str(blob.size)
        if request.method == "HEAD":
            return 200, headers, b""
        return 200, headers, (blob.size, blob.read(0, blob.size))
    first, end = span
    if blob.md5:
        headers["x-ms-blob-content-md5"] = text(blob.md5)
    headers["Content-Range"] = f"bytes {first}-{end - 1}/{blob.size}"
    return 206, headers, (end - first, blob.read(first, end))


def delete_blob(call):
    with call.store.lock:
        blob = call.blob()
        check_reading(call, blob)
        # Blocks that were not committed stay: nothing in the reference says that they go.
        del call.container.blobs[call.request.blob]
    return 202, {"x-ms-delete-type-permanent": "true"}, b""


def create_container(call):
    call.request.content_length  # it has to be there, also for no body
    name = call.request.container
    if not re.fullmatch(r"\$root|(?!.*--)[a-z0-9][a-z0-9-]{1,61}[a-z0-9]", name):
        raise Refusal(400, "InvalidResourceName", "The specified resource name contains invalid characters.")
    with call.store.lock:
        if name in call.store.containers:
            raise Refusal(409, "ContainerAlreadyExists", "The specified container already exists.")
        container = Container(call.now, call.request.metadata())
        container.tag = call.store.next_tag()
        call.store.containers[name] = container
    return 201, {"ETag": f'"{container.tag}"', "Last-Modified": http_date(container.modified)}, b""


def get_container(call):
    container = call.container
    return 200, {
        "ETag": f'"{container.tag}"', "Last-Modified": http_date(container.modified), "x-ms-lease-status": "unlocked",
        "x-ms-lease-state": "available"} | {"x-ms-meta-" + name: text for name, text in container.metadata.items()}, b""


def delete_container(call):
    with call.store.lock:
        call.container
        del call.store.containers[call.request.container]
    return 202, {}, b""


def list_blobs(call):
    with call.store.lock:
        body = listing.blobs(call.request, call.container, call.endpoint)
    return 200, {"Content-Type": "application/xml"}, body


def list_containers(call):
    with call.store.lock:
        return 200, {"Content-Type": "application/xml"}, listing.containers(call.request, call.store, call.endpoint)


def account_information(call):
    return 200, {"x-ms-sku-name": "Standard_LRS", "x-ms-account-kind": "StorageV2", "x-ms-is-hns-enabled": "false"}, b""


def find(request):
    """The operation, what it is about, and the permissions of which one has to be there."""
    method, comp, kind = request.method, request.comp, request.query.get("restype")
    if comp == "properties" and kind == "account" and method in ("GET", "HEAD"):
        return account_information, "service", "rwlc"
    if request.container is None:
        if method == "GET" and comp == "list":
            return list_containers, "service", "l"
    elif request.blob is None:
        if kind == "container":
            found = {
                ("PUT", None): (create_container, "container", "cw"), ("GET", None): (get_container, "container", "r"),
                ("HEAD", None): (get_container, "container", "r"),
                ("DELETE", None): (delete_container, "container", "d"), ("GET", "list"): (list_blobs, "list", "l"),
            }.get((method, comp))
            if found:
                return found
    else:
        found = {
            ("PUT", None): (put_blob, "blob", "cw"), ("PUT", "block"): (put_block, "blob", "w"),
            ("PUT", "blocklist"): (put_block_list, "blob", "w"),
            ("GET", "blocklist"): (get_block_list, "blob", "r"), ("GET", None): (get_blob, "blob", "r"),
            ("HEAD", None): (get_blob, "blob", "r"), ("DELETE", None): (delete_blob, "blob", "d"),
        }.get((method, comp))
        if found:
            return found
    raise Refusal(400, "InvalidQueryParameterValue" if comp else "InvalidUri", f"{method} with comp={comp} is not known.")
