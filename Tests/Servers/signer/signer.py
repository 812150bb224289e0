#!/usr/bin/env python3
"""A signing server, written from the protocol page of LFSWire alone: a second word on what that page says.

    signer.py PORT s3|azure --place NAME --endpoint URL [--threshold BYTES] [--part-size BYTES] [--expires SECONDS]

Here is the protocol; what a store needs is in `s3.py` and `azureblob.py`, on its vendor's own library, which finds its keys
in the environment. SIGNER_TOKENS is `token=user,token=user`.
"""
import argparse, base64, hashlib, hmac, http.server, importlib, json, os, re, secrets, urllib.parse

KEY = re.compile(r"(?=.{1,512}$)[a-z0-9_-][a-z0-9._-]*(/[a-z0-9_-][a-z0-9._-]*)+")
HEX = {length: re.compile(f"[0-9a-f]{{{length}}}") for length in (32, 64)}


class Refused(Exception):
    def __init__(self, code, message):
        self.code, self.message = code, message


def need(condition, message, code="invalid_request"):
    if not condition:
        raise Refused(code, message)


class Signer:
    def __init__(self, options, store):
        self.options, self.store, self.secret, self.claims = options, store, secrets.token_bytes(32), {}
        self.users = dict(pair.split("=") for pair in os.environ["SIGNER_TOKENS"].split(","))

    def description(self):
        digests = ["sha256", "md5"] if self.store.compares == "md5" else ["sha256"]
        return {"version": 1, "digests": digests, "largest_batch": 100, "largest_object": self.store.largest, "parts": {
            "threshold": self.options.threshold, "smallest": min(5 << 20, self.options.part_size),
            "largest": self.store.largest_part, "count": 10000, "digests": ["sha256", "md5"]}}

    def answer(self, caller, operation, item):
        try:
            return getattr(self, "do_" + operation)(caller, item)
        except Refused as refused:
            return {"error": {"code": refused.code, "message": refused.message}}
        except self.store.failures as failure:
            return {"error": {"code": self.store.meaning(failure), "message": f"The store: {type(failure).__name__}."}}

    # Who may, and what for

    def name(self, caller, key):
        need(isinstance(key, str) and KEY.fullmatch(key), "This is not a key.", "invalid_key")
        self.claim(caller, key.split("/")[0])
        return "objects/" + key

    def claim(self, caller, namespace):
        """The first caller has it. That is noted where no second one can: under a name that is made only once."""
        if namespace not in self.claims:
            self.claims[namespace] = self.store.made_once("claims/" + namespace, caller.encode()).decode()
        need(self.claims[namespace] == caller, "This is somebody else's.", "forbidden")

    def digest(self, item, name, length):
        need(isinstance(item.get(name), str) and HEX[length].fullmatch(item[name]), f"There is no {name}, or a wrong one.")
        return bytes.fromhex(item[name])

    def content(self, item):
        size = item.get("size")
        need(type(size) is int and size >= 0, "There is no size, or a wrong one.")
        need(size <= self.store.largest, "The store takes less.", "too_large")
        return size, self.digest(item, "sha256", 64)

    def checksum(self, item, sha256):
        """What the store compares itself."""
        return self.digest(item, "md5", 32) if self.store.compares == "md5" else sha256

    def seal(self, upload):
        text = base64.urlsafe_b64encode(json.dumps(upload).encode()).decode().rstrip("=")
        return text + "." + hmac.new(self.secret, text.encode(), "sha256").hexdigest()

    def opened(self, caller, item):
        text, _, mac = str(item.get("upload")).partition(".")
        right = hmac.new(self.secret, text.encode(), "sha256").hexdigest()
        need(hmac.compare_digest(right, mac), "This upload is not known.", "lost_upload")
        upload = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        need(upload["caller"] == caller, "This upload is not known.", "lost_upload")
        return upload, "objects/" + upload["key"]

    def action(self, operation, method, href, fields, proof=None):
        action = {"method": method, "href": href, "header": fields, "expires_in": self.options.expires}
        return {"actions": {operation: {**action, "proof": proof} if proof else action}}

    # Operations

    def do_upload(self, caller, item):
        name, (size, sha256) = self.name(caller, item.get("key")), self.content(item)
        kind, replace = item.get("type") or "application/octet-stream", item.get("replace") is True
        if size >= self.options.threshold:
            upload = {"caller": caller, "key": item["key"], "size": size, "sha256": sha256.hex(), "replace": replace,
                      "kind": kind, "part_size": self.options.part_size, "id": self.store.begin(name, kind)}
            return {"parts": {"upload": self.seal(upload), "part_size": self.options.part_size}}
        return self.action("upload", "PUT", *self.store.signed_upload(
            name, size, self.checksum(item, sha256), kind, replace, self.options.expires))

    def do_parts(self, caller, item):
        (upload, name), (size, sha256), number = self.opened(caller, item), self.content(item), item.get("number")
        count = max(-(-upload["size"] // upload["part_size"]), 1)
        need(type(number) is int and 1 <= number <= count, "There is no such part.")
        last = upload["size"] - (count - 1) * upload["part_size"]
        need(size == (last if number == count else upload["part_size"]), "The part has another size.")
        return self.action("parts", "PUT", *self.store.signed_part(
            name, upload["id"], number, size, self.checksum(item, sha256), self.options.expires))

    def do_state(self, caller, item):
        upload, name = self.opened(caller, item)
        return {"present": [{"number": number, "size": size, "md5": md5}
                            for number, size, md5, _ in self.store.parts(name, upload["id"])]}

    def do_complete(self, caller, item):
        upload, name = self.opened(caller, item)
        parts = self.store.parts(name, upload["id"])
        need(parts, "Nothing is there, or nothing any more.", "lost_upload")
        need(sum(size for _, size, _, _ in parts) == upload["size"], "A part is missing.", "incomplete")
        wanted = item.get("parts_md5")
        digest = hashlib.md5(b"".join(bytes.fromhex(md5) for _, _, md5, _ in parts)).hexdigest()
        need(wanted in (None, digest), "A part is another one.", "incomplete")
        tag = self.store.complete(name, upload["id"], parts, upload["kind"], upload["replace"])
        if not (self.store.binds_content and wanted) and self.sha256(name) != upload["sha256"]:
            self.store.delete(name)
            raise Refused("integrity", "The parts are not what was announced.")
        return {"object": {"key": upload["key"], "size": upload["size"], "sha256": upload["sha256"], "entity_tag": tag}}

    def do_abort(self, caller, item):
        upload, name = self.opened(caller, item)
        self.store.abort(name, upload["id"])
        return {}

    def do_download(self, caller, item):
        name = self.name(caller, item.get("key"))
        return self.action("download", "GET", self.store.signed_download(name, self.options.expires), {})

    def do_head(self, caller, item):
        size, sha256, tag = self.store.head(self.name(caller, item.get("key")))
        return {"object": {"key": item["key"], "size": size, "entity_tag": tag, **({"sha256": sha256} if sha256 else {})}}

    def sha256(self, name):
        digest = hashlib.sha256()
        for chunk in self.store.read(name):
            digest.update(chunk)
        return digest.hexdigest()

    def do_confirm(self, caller, item):
        size, sha256 = self.content(item)
        object = self.do_head(caller, item)["object"]
        if object["size"] == size and "sha256" not in object:  # the store's word is not about the whole: read it
            object["sha256"] = self.sha256(self.name(caller, item["key"]))
        need(object["size"] == size and object["sha256"] == sha256.hex(), "There is something else.", "integrity")
        return {"object": object}

    def do_delete(self, caller, item):
        name = self.name(caller, item.get("key"))
        if item.get("upload"):
            need(self.opened(caller, item)[0]["key"] == item["key"], "This is another's upload.", "lost_upload")
            self.do_abort(caller, item)
        self.store.delete(name)
        return {}

    def do_list(self, caller, item):
        prefix, limit = item.get("prefix"), item.get("limit", 1000)
        need(isinstance(prefix, str) and "/" in prefix and type(limit) is int, "There is no prefix.")
        self.claim(caller, prefix.split("/")[0])
        after = base64.urlsafe_b64decode(item["continuation"]).decode() if item.get("continuation") else ""
        page, more = self.store.page("objects/" + prefix, after, min(max(limit, 1), 1000))
        objects = [{"key": name.removeprefix("objects/"), "size": size} for name, size in page]
        more = {"next": base64.urlsafe_b64encode(more.encode()).decode()} if more else {}
        return {"page": {"objects": objects, **more}}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version, disable_nagle_algorithm, wbufsize = "HTTP/1.1", True, -1

    def log_request(self, *_):
        pass  # a line of it would have what a log must not

    def caller(self):
        scheme, _, token = self.headers.get("Authorization", "").partition(" ")
        return self.signer.users.get(token) if scheme == "Bearer" else None

    def reply(self, status, message, **fields):
        body = json.dumps({"version": 1, **message}).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(body)), **fields}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def refuse(self, status, code, message, **fields):
        self.close_connection = True
        self.reply(status, {"error": {"code": code, "message": message}}, **fields)

    def do_GET(self):
        if self.path != "/lfs":
            return self.refuse(404, "invalid_request", "This is not the base URL.")
        if self.caller() is None:
            return self.refuse(401, "unauthorized", "There is no such token.", WWW_Authenticate="Bearer")
        self.reply(200, self.signer.description())

    def do_POST(self):
        size, caller = int(self.headers.get("Content-Length", -1)), self.caller()
        if self.path != "/lfs" or caller is None or not 0 <= size <= 1 << 20:
            status, code = (401, "unauthorized") if caller is None else (413 if size > 1 << 20 else 400, "invalid_request")
            return self.refuse(status, code, "This is refused as a whole.", WWW_Authenticate="Bearer")
        try:
            message = json.loads(self.rfile.read(size))
            operation, objects = message["operation"], message["objects"]
            need(message["version"] == 1 and hasattr(self.signer, "do_" + operation) and 0 < len(objects) <= 100, "")
        except (ValueError, KeyError, TypeError, Refused):
            return self.refuse(400, "invalid_request", "This message makes no sense.")
        self.reply(200, {"objects": [self.signer.answer(caller, operation, item) for item in objects]})


class Server(http.server.ThreadingHTTPServer):
    request_queue_size, daemon_threads = 128, True


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("port", type=int)
    parser.add_argument("store", choices=["s3", "azure"])
    for name, default in [("place", "signer"), ("endpoint", None)]:
        parser.add_argument("--" + name, default=default)
    for name, default in [("threshold", 32 << 20), ("part-size", 16 << 20), ("expires", 900)]:
        parser.add_argument("--" + name, type=int, default=default)
    options = parser.parse_args()
    module = importlib.import_module({"s3": "s3", "azure": "azureblob"}[options.store])
    Handler.signer = Signer(options, module.Store(options.endpoint, options.place))
    Server(("127.0.0.1", options.port), Handler).serve_forever()
