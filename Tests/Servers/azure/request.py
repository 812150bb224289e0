"""One request as the service sees it: names, query, header fields."""
from urllib.parse import unquote, urlsplit

from refusals import Refusal, bad_header, missing_header


class Request:
    def __init__(self, method, target, headers, account):
        self.method = method
        parts = urlsplit(target)
        # The path as it came: signatures are about the encoded one.
        self.path = parts.path
        self.query = {}
        self.raw_query = []
        for pair in filter(None, parts.query.split("&")):
            name, _, value = pair.partition("=")
            # A plus is a plus here: forms write blanks that way, signatures do not.
            name, value = unquote(name), unquote(value)
            self.raw_query.append((name.lower(), value))
            self.query[name.lower()] = value
        self.headers = {}
        for name, value in headers:
            name = name.lower()
            self.headers[name] = f"{self.headers[name]},{value}" if name in self.headers else value
        segments = self.path.lstrip("/").split("/")
        # Emulators have the account in the path.
        if segments and unquote(segments[0]) == account:
            segments = segments[1:]
        self.container = unquote(segments[0]) if segments and segments[0] else None
        self.blob = unquote("/".join(segments[1:])) if len(segments) > 1 and segments[1] else None
        self.comp = self.query.get("comp")

    def header(self, name):
        """The value of a field; None also for an empty one."""
        return self.headers.get(name) or None

    @property
    def version(self):
        version = self.header("x-ms-version") or self.query.get("sv") or "2009-09-19"
        if len(version) != 10 or not "2009-09-19" <= version <= "2026-12-31":
            raise bad_header("x-ms-version", version)
        return version

    @property
    def content_length(self):
        if "transfer-encoding" in self.headers:
            raise Refusal(411, "MissingContentLengthHeader", "Content-Length header was not specified.")
        text = self.header("content-length")
        if text is None:
            raise Refusal(411, "MissingContentLengthHeader", "Content-Length header was not specified.")
        if not text.isdigit():
            raise bad_header("content-length", text)
        return int(text)

    def required(self, name):
        value = self.header(name)
        if value is None:
            raise missing_header(name)
        return value

    def metadata(self):
        """The metadata, whose names have to be identifiers of C#."""
        found = {}
        for name, value in self.headers.items():
            if name.startswith("x-ms-meta-"):
                name = name[len("x-ms-meta-"):]
                if not (name.isidentifier() and name.isascii()):
                    raise Refusal(
                        400, "InvalidMetadata", "The metadata specified is invalid. It has characters that are not "
                        "permitted.")
                found[name] = value
        if sum(len(name) + len(value) for name, value in found.items()) > 8192:
            raise Refusal(400, "MetadataTooLarge", "The size of the specified metadata exceeds the limit.")
        return found

    def range(self, size):
        """The first byte asked for and the one behind the last; None for all."""
        text = self.header("x-ms-range") or self.header("range")
        if text is None:
            return None
        unit, _, ends = text.partition("=")
        first, dash, last = ends.partition("-")
        if unit != "bytes" or not dash or not first.isdigit() or (last and not last.isdigit()):
            raise bad_header("x-ms-range", text)
        first, last = int(first), min(int(last) if last else size - 1, size - 1)
        if first >= size or last < first:
            raise Refusal(
                416, "InvalidRange", "The range specified is invalid for the current size of the resource.",
                {"Content-Range": f"bytes */{size}"})
        return first, last + 1
