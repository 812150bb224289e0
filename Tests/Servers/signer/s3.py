"""A bucket behind the signing server, on boto3: it signs, and the store compares a SHA-256 that the signature binds."""
import base64, time, urllib.parse
import boto3, botocore.client, botocore.exceptions

MEANINGS = {"404": "missing", "NoSuchKey": "missing", "NoSuchUpload": "lost_upload", "412": "integrity",
            "PreconditionFailed": "integrity", "SlowDown": "throttled", "InvalidPart": "incomplete"}


class Store:
    largest, largest_part, compares, binds_content = 5 << 40, 5 << 30, "sha256", True
    failures = (botocore.exceptions.ClientError, botocore.exceptions.BotoCoreError)

    def __init__(self, endpoint, bucket):
        config = botocore.client.Config(
            signature_version="s3v4", s3={"addressing_style": "path"}, request_checksum_calculation="when_required",
            response_checksum_validation="when_required", max_pool_connections=64)
        self.s3, self.bucket = boto3.client("s3", endpoint_url=endpoint, config=config), bucket
        for _ in range(60):  # the store may still be starting
            try:
                self.s3.create_bucket(Bucket=bucket)
                break
            except self.s3.exceptions.BucketAlreadyOwnedByYou:
                break
            except self.failures:
                time.sleep(0.5)

    def meaning(self, failure):
        if isinstance(failure, botocore.exceptions.BotoCoreError):
            return "unavailable"
        return MEANINGS.get(failure.response["Error"]["Code"], "server_error")

    def place(self, name, upload=None):
        return {"Bucket": self.bucket, "Key": name, **({"UploadId": upload} if upload else {})}

    def made_once(self, name, content):
        """What stands under the name; this content if nothing stood there."""
        try:
            self.s3.put_object(**self.place(name), Body=content, IfNoneMatch="*")
            return content
        except botocore.exceptions.ClientError as failure:
            if failure.response["Error"]["Code"] != "PreconditionFailed":
                raise
            return self.s3.get_object(**self.place(name))["Body"].read()

    def signed(self, call, params, method, fields, expires):
        """boto3 writes the URL; the fields that it signs are those that the client has to send."""
        href = self.s3.generate_presigned_url(call, Params=params, ExpiresIn=expires, HttpMethod=method)
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(href).query)
        assert set(fields) <= set(query["X-Amz-SignedHeaders"][0].split(";")), "boto3 has left out a field"
        return href

    def signed_upload(self, name, size, sha256, kind, replace, expires):
        checksum = base64.b64encode(sha256).decode()
        params = {**self.place(name), "ContentLength": size, "ContentType": kind, "ChecksumSHA256": checksum}
        fields = {"content-length": str(size), "content-type": kind, "x-amz-checksum-sha256": checksum}
        if not replace:
            params["IfNoneMatch"] = fields["if-none-match"] = "*"
        proof = {"header": "x-amz-checksum-sha256", "value": checksum}
        return self.signed("put_object", params, "PUT", fields, expires), fields, proof

    def signed_part(self, name, upload, number, size, sha256, expires):
        checksum = base64.b64encode(sha256).decode()
        params = {**self.place(name, upload), "PartNumber": number, "ContentLength": size, "ChecksumSHA256": checksum}
        fields = {"content-length": str(size), "x-amz-checksum-sha256": checksum}
        proof = {"header": "x-amz-checksum-sha256", "value": checksum}
        return self.signed("upload_part", params, "PUT", fields, expires), fields, proof

    def signed_download(self, name, expires):
        return self.signed("get_object", self.place(name), "GET", {}, expires)

    def begin(self, name, kind):
        return self.s3.create_multipart_upload(**self.place(name), ContentType=kind)["UploadId"]

    def parts(self, name, upload):
        """Number, size, MD5 and what completes with it. SeaweedFS lists no checksums, and tags that are the MD5s."""
        parts = {}
        for page in self.s3.get_paginator("list_parts").paginate(**self.place(name, upload)):
            for part in page.get("Parts", []):
                parts.setdefault(part["PartNumber"], part)  # one that was sent again comes twice, the newest first
        return [(number, part["Size"], part["ETag"].strip('"'), part["ETag"]) for number, part in sorted(parts.items())]

    def complete(self, name, upload, parts, kind, replace):
        listed = [{"PartNumber": number, "ETag": tag} for number, _, _, tag in parts]
        condition = {} if replace else {"IfNoneMatch": "*"}
        return self.s3.complete_multipart_upload(
            **self.place(name, upload), MultipartUpload={"Parts": listed}, **condition)["ETag"].strip('"')

    def abort(self, name, upload):
        try:
            self.s3.abort_multipart_upload(**self.place(name, upload))
        except self.s3.exceptions.NoSuchUpload:
            pass

    def head(self, name):
        found = self.s3.head_object(**self.place(name), ChecksumMode="ENABLED")
        checksum, tag = found.get("ChecksumSHA256", "-"), found["ETag"].strip('"')
        is_whole = "-" not in checksum + tag and found.get("ChecksumType") != "COMPOSITE"
        return found["ContentLength"], base64.b64decode(checksum).hex() if is_whole else None, tag

    def read(self, name):
        return self.s3.get_object(**self.place(name))["Body"].iter_chunks(1 << 20)

    def delete(self, name):
        self.s3.delete_object(**self.place(name))

    def page(self, prefix, after, limit):
        start = {"StartAfter": after} if after else {}
        page = self.s3.list_objects_v2(Bucket=self.bucket, Prefix=prefix, MaxKeys=limit, **start)
        found = [(item["Key"], item["Size"]) for item in page.get("Contents", [])]
        return found, found[-1][0] if page["IsTruncated"] else None
