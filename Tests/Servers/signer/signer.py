#!/usr/bin/env python3
"""A signing server on boto3, written from the protocol page of LFSWire alone: a second word on what that page says.

    signer.py PORT --bucket NAME --endpoint URL [--region NAME] [--threshold BYTES] [--part-size BYTES] [--expires SECONDS] [--md5]

The keys of the store are AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; SIGNER_TOKENS is `token=user,token=user`.
"""
import argparse, base64, hashlib, hmac, http.server, json, os, re, secrets, time, urllib.parse
import boto3, botocore.client, botocore.exceptions

KEY = re.compile(r"(?=.{1,512}$)[a-z0-9_-][a-z0-9._-]*(/[a-z0-9_-][a-z0-9._-]*)+")
HEX = re.compile(r"[0-9a-f]{64}")
MEANINGS = {"404": "missing", "NoSuchKey": "missing", "NoSuchUpload": "lost_upload", "412": "integrity",
            "PreconditionFailed": "integrity", "SlowDown": "throttled", "InvalidPart": "incomplete"}


class Refused(Exception):
    def __init__(self, code, message):
        self.code, self.message = code, message


def need(condition, message, code="invalid_request"):
    if not condition:
        raise Refused(code, message)


class Signer:
    def __init__(self, options):
        self.options, self.secret, self.claims = options, secrets.token_bytes(32), {}
        config = botocore.client.Config(
            signature_version="s3v4", s3={"addressing_style": "path"}, request_checksum_calculation="when_required",
            response_checksum_validation="when_required", max_pool_connections=64)
        self.s3 = boto3.client("s3", endpoint_url=options.endpoint, region_name=options.region, config=config)
        self.users = dict(pair.split("=") for pair in os.environ["SIGNER_TOKENS"].split(","))

    def make_bucket(self):
        """The store may still be starting."""
        for _ in range(60):
            try:
                return self.s3.create_bucket(Bucket=self.options.bucket)
            except self.s3.exceptions.BucketAlreadyOwnedByYou:
                return
            except (botocore.exceptions.EndpointConnectionError, botocore.exceptions.ClientError):
                time.sleep(0.5)

    def description(self):
        digests = ["sha256", "md5"] if self.options.md5 else ["sha256"]
        return {"version": 1, "digests": digests, "largest_batch": 100, "largest_object": 5 << 40, "parts": {
            "threshold": self.options.threshold, "smallest": min(5 << 20, self.options.part_size),
            "largest": 5 << 30, "count": 10000}}

    def answer(self, caller, operation, item):
        try:
            return getattr(self, "do_" + operation)(caller, item)
        except Refused as refused:
            return {"error": {"code": refused.code, "message": refused.message}}
        except botocore.exceptions.ClientError as failure:
            code = failure.response["Error"]["Code"]
            return {"error": {"code": MEANINGS.get(code, "server_error"), "message": f"The store says {code}."}}
        except botocore.exceptions.BotoCoreError as failure:
            return {"error": {"code": "unavailable", "message": type(failure).__name__}}

    # Who may, and what for

    def place(self, caller, key):
        need(isinstance(key, str) and KEY.fullmatch(key), "This is not a key.", "invalid_key")
        self.claim(caller, key.split("/")[0])
        return {"Bucket": self.options.bucket, "Key": "objects/" + key}

    def claim(self, caller, namespace):
        """The first caller has it. That is noted where no second one can: under a name that is made only once."""
        if namespace not in self.claims:
            claim = {"Bucket": self.options.bucket, "Key": "claims/" + namespace}
            try:
                self.s3.put_object(**claim, Body=caller.encode(), IfNoneMatch="*")
                self.claims[namespace] = caller
            except botocore.exceptions.ClientError as failure:
                need(failure.response["Error"]["Code"] == "PreconditionFailed", "The claim failed.", "server_error")
                self.claims[namespace] = self.s3.get_object(**claim)["Body"].read().decode()
        need(self.claims[namespace] == caller, "This is somebody else's.", "forbidden")

    def content(self, item):
        size, sha256 = item.get("size"), item.get("sha256")
        need(type(size) is int and 0 <= size <= 5 << 40, "There is no size, or a wrong one.")
        need(isinstance(sha256, str) and HEX.fullmatch(sha256), "There is no sha256, or a wrong one.")
        return size, sha256, base64.b64encode(bytes.fromhex(sha256)).decode()

    def seal(self, upload):
        text = base64.urlsafe_b64encode(json.dumps(upload).encode()).decode().rstrip("=")
        return text + "." + hmac.new(self.secret, text.encode(), "sha256").hexdigest()

    def opened(self, caller, item):
        text, _, mac = str(item.get("upload")).partition(".")
        right = hmac.new(self.secret, text.encode(), "sha256").hexdigest()
        need(hmac.compare_digest(right, mac), "This upload is not known.", "lost_upload")
        upload = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        need(upload["caller"] == caller, "This upload is not known.", "lost_upload")
        place = {"Bucket": self.options.bucket, "Key": "objects/" + upload["key"]}
        return upload, {**place, "UploadId": upload["id"]}

    def action(self, name, call, params, method, fields, proof=None):
        """boto3 writes the URL; the fields that it signs are those that the client has to send."""
        href = self.s3.generate_presigned_url(call, Params=params, ExpiresIn=self.options.expires, HttpMethod=method)
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(href).query)
        signed = query["X-Amz-SignedHeaders"][0].split(";")
        need(set(fields) <= set(signed), f"boto3 has signed {signed} only.", "server_error")
        action = {"method": method, "href": href, "header": fields, "expires_in": self.options.expires}
        return {"actions": {name: {**action, "proof": proof} if proof else action}}

    # Operations

    def do_upload(self, caller, item):
        place, (size, sha256, checksum) = self.place(caller, item.get("key")), self.content(item)
        kind, replace = item.get("type") or "application/octet-stream", item.get("replace") is True
        if size >= self.options.threshold:
            begun = self.s3.create_multipart_upload(**place, ContentType=kind)
            upload = {"caller": caller, "key": item["key"], "size": size, "sha256": sha256, "replace": replace,
                      "part_size": self.options.part_size, "id": begun["UploadId"]}
            return {"parts": {"upload": self.seal(upload), "part_size": self.options.part_size}}
        params = {**place, "ContentLength": size, "ContentType": kind, "ChecksumSHA256": checksum}
        fields = {"content-length": str(size), "content-type": kind, "x-amz-checksum-sha256": checksum}
        if not replace:
            params["IfNoneMatch"] = fields["if-none-match"] = "*"
        proof = {"header": "x-amz-checksum-sha256", "value": checksum}
        return self.action("upload", "put_object", params, "PUT", fields, proof)

    def do_parts(self, caller, item):
        (upload, place), (size, _, checksum), number = self.opened(caller, item), self.content(item), item.get("number")
        count = max(-(-upload["size"] // upload["part_size"]), 1)
        need(type(number) is int and 1 <= number <= count, "There is no such part.")
        last = upload["size"] - (count - 1) * upload["part_size"]
        need(size == (last if number == count else upload["part_size"]), "The part has another size.")
        params = {**place, "PartNumber": number, "ContentLength": size, "ChecksumSHA256": checksum}
        fields = {"content-length": str(size), "x-amz-checksum-sha256": checksum}
        proof = {"header": "x-amz-checksum-sha256", "value": checksum}
        return self.action("parts", "upload_part", params, "PUT", fields, proof)

    def present(self, place):
        parts = {}
        for page in self.s3.get_paginator("list_parts").paginate(**place):
            for part in page.get("Parts", []):
                parts.setdefault(part["PartNumber"], part)  # one that was sent again comes twice, the newest first
        return [parts[number] for number in sorted(parts)]

    def do_state(self, caller, item):
        """SeaweedFS lists no checksums, and tags that are the MD5s."""
        return {"present": [{"number": part["PartNumber"], "size": part["Size"], "md5": part["ETag"].strip('"')}
                            for part in self.present(self.opened(caller, item)[1])]}

    def do_complete(self, caller, item):
        upload, place = self.opened(caller, item)
        parts = self.present(place)
        need(sum(part["Size"] for part in parts) == upload["size"], "A part is missing.", "incomplete")
        digest = hashlib.md5(b"".join(bytes.fromhex(part["ETag"].strip('"')) for part in parts)).hexdigest()
        need(digest == item.get("parts_md5"), "A part is another one.", "incomplete")
        listed = [{name: part[name] for name in ("PartNumber", "ETag")} for part in parts]
        condition = {} if upload["replace"] else {"IfNoneMatch": "*"}
        done = self.s3.complete_multipart_upload(**place, MultipartUpload={"Parts": listed}, **condition)
        return {"object": {"key": upload["key"], "size": upload["size"], "sha256": upload["sha256"],
                           "entity_tag": done["ETag"].strip('"')}}

    def do_abort(self, caller, item):
        try:
            self.s3.abort_multipart_upload(**self.opened(caller, item)[1])
        except self.s3.exceptions.NoSuchUpload:
            pass
        return {}

    def do_download(self, caller, item):
        return self.action("download", "get_object", self.place(caller, item.get("key")), "GET", {})

    def do_head(self, caller, item):
        found = self.s3.head_object(**self.place(caller, item.get("key")), ChecksumMode="ENABLED")
        object = {"key": item["key"], "size": found["ContentLength"], "entity_tag": found["ETag"].strip('"')}
        checksum = found.get("ChecksumSHA256", "-")
        if "-" not in checksum and found.get("ChecksumType") != "COMPOSITE" and "-" not in object["entity_tag"]:
            object["sha256"] = base64.b64decode(checksum).hex()
        return {"object": object}

    def do_confirm(self, caller, item):
        size, sha256, _ = self.content(item)
        object = self.do_head(caller, item)["object"]
        if object["size"] == size and "sha256" not in object:  # the store's word is not about the whole: read it
            digest = hashlib.sha256()
            for chunk in self.s3.get_object(**self.place(caller, item["key"]))["Body"].iter_chunks(1 << 20):
                digest.update(chunk)
            object["sha256"] = digest.hexdigest()
        need(object["size"] == size and object["sha256"] == sha256, "There is something else.", "integrity")
        return {"object": object}

    def do_delete(self, caller, item):
        place = self.place(caller, item.get("key"))
        if item.get("upload"):
            need(self.opened(caller, item)[0]["key"] == item["key"], "This is another's upload.", "lost_upload")
            self.do_abort(caller, item)
        self.s3.delete_object(**place)
        return {}

    def do_list(self, caller, item):
        prefix, limit = item.get("prefix"), item.get("limit", 1000)
        need(isinstance(prefix, str) and "/" in prefix and type(limit) is int, "There is no prefix.")
        self.claim(caller, prefix.split("/")[0])
        after = item.get("continuation")
        start = {"StartAfter": "objects/" + base64.urlsafe_b64decode(after).decode()} if after else {}
        page = self.s3.list_objects_v2(
            Bucket=self.options.bucket, Prefix="objects/" + prefix, MaxKeys=min(max(limit, 1), 1000), **start)
        objects = [{"key": found["Key"][len("objects/"):], "size": found["Size"]} for found in page.get("Contents", [])]
        more = {"next": base64.urlsafe_b64encode(objects[-1]["key"].encode()).decode()} if page["IsTruncated"] else {}
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
    for name, default in [("bucket", "signer"), ("endpoint", None), ("region", "us-east-1")]:
        parser.add_argument("--" + name, default=default)
    for name, default in [("threshold", 32 << 20), ("part-size", 16 << 20), ("expires", 900)]:
        parser.add_argument("--" + name, type=int, default=default)
    parser.add_argument("--md5", action="store_true", help="want MD5s, by which parts are told apart")
    Handler.signer = Signer(parser.parse_args())
    Handler.signer.make_bucket()
    Server(("127.0.0.1", Handler.signer.options.port), Handler).serve_forever()
