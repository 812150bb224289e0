"""Lists of blobs, of blocks and of containers ("List Blobs", "Get Block List", "List Containers")."""
import base64
import hashlib
from urllib.parse import quote
from xml.sax.saxutils import escape, quoteattr

from refusals import bad_query
from store import http_date


def number(request, name, most):
    text = request.query.get(name)
    if text is None:
        return most
    if not text.isdigit() or int(text) < 1:
        raise bad_query(name, text, "OutOfRangeQueryParameterValue")
    return min(int(text), most)


def start(request):
    """Where the page begins: its marker is opaque."""
    text = request.query.get("marker")
    if not text:
        return ""
    try:
        mark, name = base64.urlsafe_b64decode(text.encode()).decode().split(":", 1)
        if mark == seal(name):
            return name
    except ValueError:
        pass
    raise bad_query("marker", text)


def seal(name):
    return hashlib.sha256(b"2!" + name.encode()).hexdigest()[:8]


def marker(name):
    return base64.urlsafe_b64encode(f"{seal(name)}:{name}".encode()).decode()


def named(name):
    """A name that cannot stand in XML is percent-encoded, and says so."""
    if all(character in "\t" or " " <= character and character not in "\ufffe\uffff" for character in name):
        return f"<Name>{escape(name)}</Name>"
    return f'<Name Encoded="true">{quote(name)}</Name>'


def document(root, attributes, body):
    return f'<?xml version="1.0" encoding="utf-8"?><{root}{attributes}>{body}</{root}>'.encode()


def blobs(request, container, endpoint):
    query = request.query
    prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
    limit, first = number(request, "maxresults", 5000), start(request)
    include = set(filter(None, query.get("include", "").split(",")))
    unknown = include - {"metadata", "uncommittedblobs", "snapshots", "deleted", "copy", "tags", "versions"}
    if unknown:
        raise bad_query("include", query["include"])
    names = set(container.blobs)
    if "uncommittedblobs" in include:
        names |= set(container.uncommitted)
    entries, next_name, groups = [], None, set()
    for name in sorted(names):
        if name < first or not name.startswith(prefix):
            continue
        rest = name[len(prefix):]
        group = prefix + rest[:rest.index(delimiter) + len(delimiter)] if delimiter and delimiter in rest else None
        if group is not None and (group in groups or group < first):
            continue
        if len(entries) == limit:
            next_name = group or name
            break
        if group is not None:
            groups.add(group)
            entries.append(f"<BlobPrefix>{named(group)}</BlobPrefix>")
        else:
            entries.append(entry(name, container, "metadata" in include))
    echo = "".join(
        f"<{tag}>{escape(query[parameter])}</{tag}>" for parameter, tag in (
            ("prefix", "Prefix"), ("marker", "Marker"), ("maxresults", "MaxResults"), ("delimiter", "Delimiter"))
        if query.get(parameter))
    following = f"<NextMarker>{marker(next_name)}</NextMarker>" if next_name else "<NextMarker />"
    attributes = f" ServiceEndpoint={quoteattr(endpoint)} ContainerName={quoteattr(request.container)}"
    return document("EnumerationResults", attributes, f"{echo}<Blobs>{''.join(entries)}</Blobs>{following}")


def entry(name, container, with_metadata):
    blob = container.blobs.get(name)
    if blob is None:
        begun = http_date(container.uncommitted[name][0])
        return (
            f"<Blob>{named(name)}<Properties><Creation-Time>{begun}</Creation-Time><Last-Modified>{begun}"
            "</Last-Modified><Etag /><Content-Length>0</Content-Length><BlobType>BlockBlob</BlobType></Properties>"
            "</Blob>")
    properties = {
        "Creation-Time": http_date(blob.created), "Last-Modified": http_date(blob.modified), "Etag": blob.tag,
        "Content-Length": str(blob.size), "Content-Type": blob.fields.get("content-type", ""),
        "Content-Encoding": blob.fields.get("content-encoding", ""),
        "Content-Language": blob.fields.get("content-language", ""),
        "Content-MD5": base64.b64encode(blob.md5).decode() if blob.md5 else "",
        "Cache-Control": blob.fields.get("cache-control", ""),
        "Content-Disposition": blob.fields.get("content-disposition", ""), "BlobType": "BlockBlob",
        "AccessTier": "Hot", "LeaseStatus": "unlocked", "LeaseState": "available", "ServerEncrypted": "true"}
    text = "".join(f"<{tag}>{escape(value)}</{tag}>" if value else f"<{tag} />" for tag, value in properties.items())
    metadata = ""
    if with_metadata:
        metadata = "".join(f"<{tag}>{escape(value)}</{tag}>" for tag, value in sorted(blob.metadata.items()))
        metadata = f"<Metadata>{metadata}</Metadata>"
    return f"<Blob>{named(name)}<Properties>{text}</Properties>{metadata}</Blob>"


def blocks(kind, committed, uncommitted):
    def part(tag, items):
        inside = "".join(f"<Block><Name>{name}</Name><Size>{size}</Size></Block>" for name, size in items)
        return f"<{tag}>{inside}</{tag}>"

    body = part("CommittedBlocks", committed) if kind in ("committed", "all") else ""
    body += part("UncommittedBlocks", uncommitted) if kind in ("uncommitted", "all") else ""
    return document("BlockList", "", body)


def containers(request, store, endpoint):
    prefix, limit, first = request.query.get("prefix", ""), number(request, "maxresults", 5000), start(request)
    names = [name for name in sorted(store.containers) if name >= first and name.startswith(prefix)]
    entries = "".join(
        f"<Container><Name>{escape(name)}</Name><Properties><Last-Modified>"
        f"{http_date(store.containers[name].modified)}</Last-Modified><Etag>{store.containers[name].tag}</Etag>"
        "</Properties></Container>" for name in names[:limit])
    following = f"<NextMarker>{marker(names[limit])}</NextMarker>" if len(names) > limit else "<NextMarker />"
    attributes = f" ServiceEndpoint={quoteattr(endpoint)}"
    return document("EnumerationResults", attributes, f"<Containers>{entries}</Containers>{following}")
