"""A container behind the signing server, on azure-storage-blob.

A signature by the account's key binds the blob, what may be done and until when, and not the bytes: so no reply proves
anything, and `confirm` and the end of an upload in parts read what came.
"""
import base64, datetime, os, secrets, time
import azure.core
import azure.core.exceptions as errors
from azure.storage.blob import BlobBlock, BlobSasPermissions, BlobServiceClient, ContentSettings, generate_blob_sas

ABSENT = {"match_condition": azure.core.MatchConditions.IfMissing}


class Ambiguous(errors.AzureError):
    """Two blocks wait as one part: nobody can say any more which the client means."""


class Store:
    largest, largest_part, compares, binds_content = 190 << 40, 4000 << 20, "md5", False
    failures = (errors.AzureError,)

    def __init__(self, endpoint, container):
        self.key = os.environ["AZURE_STORAGE_KEY"]
        service = BlobServiceClient(endpoint, credential={
            "account_name": os.environ["AZURE_STORAGE_ACCOUNT"], "account_key": self.key}, retry_total=2)
        self.container = service.get_container_client(container)
        for _ in range(60):  # the store may still be starting
            try:
                self.container.create_container()
                break
            except errors.ResourceExistsError:
                break
            except errors.AzureError:
                time.sleep(0.5)

    def meaning(self, failure):
        if isinstance(failure, Ambiguous):
            return "lost_upload"
        status = getattr(failure, "status_code", None)
        return {None: "unavailable", 403: "unavailable", 404: "missing", 409: "integrity", 412: "integrity",
                503: "throttled"}.get(status, "server_error")

    def made_once(self, name, content):
        """What stands under the name; this content if nothing stood there."""
        try:
            self.container.upload_blob(name, content)
            return content
        except errors.ResourceExistsError:
            return self.container.download_blob(name).readall()

    def signed(self, name, expires, more="", **permission):
        blob = self.container.get_blob_client(name)
        end = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=expires)
        signature = generate_blob_sas(
            blob.account_name, blob.container_name, name, account_key=self.key, expiry=end,
            permission=BlobSasPermissions(**permission))
        return f"{blob.url}?{more}{signature}"

    def signed_upload(self, name, size, md5, kind, replace, expires):
        fields = {"content-length": str(size), "content-type": kind, "content-md5": base64.b64encode(md5).decode(),
                  "x-ms-blob-type": "BlockBlob", **({} if replace else {"if-none-match": "*"})}
        return self.signed(name, expires, create=True, write=replace), fields

    def signed_part(self, name, upload, number, size, md5, expires):
        """Whose block it is, which and of what stands in its name: all that the service says of a block again."""
        block = base64.b64encode(f"{upload}{number:06}{md5.hex()}".encode()).decode()
        fields = {"content-length": str(size), "content-md5": base64.b64encode(md5).decode()}
        return self.signed(name, expires, f"comp=block&blockid={block}&", write=True), fields

    def signed_download(self, name, expires):
        return self.signed(name, expires, read=True)

    def begin(self, name, kind):
        return secrets.token_hex(8)

    def parts(self, name, upload):
        """Number, size, MD5 and what completes with it."""
        try:
            blocks = self.container.get_blob_client(name).get_block_list("uncommitted")[1]
        except errors.ResourceNotFoundError:
            return []
        parts = {}
        for block in blocks:
            if block.id.startswith(upload) and len(block.id) == len(upload) + 38:
                number = int(block.id[len(upload):][:6])
                if number in parts:
                    raise Ambiguous(f"Part {number} waits twice.")
                parts[number] = (number, block.size, block.id[-32:], block.id)
        return [parts[number] for number in sorted(parts)]

    def complete(self, name, upload, parts, kind, replace):
        return self.container.get_blob_client(name).commit_block_list(
            [BlobBlock(block_id=block) for _, _, _, block in parts], **({} if replace else ABSENT),
            content_settings=ContentSettings(content_type=kind))["etag"].strip('"')

    def abort(self, name, upload):
        """An object that is made over them takes blocks that wait along; where one stands, they end by themselves."""
        try:
            made = self.container.upload_blob(name, b"")
            made.delete_blob(etag=made.get_blob_properties().etag, match_condition=azure.core.MatchConditions.IfNotModified)
        except (errors.ResourceExistsError, errors.ResourceModifiedError, errors.ResourceNotFoundError):
            pass

    def head(self, name):
        found = self.container.get_blob_client(name).get_blob_properties()
        return found.size, None, found.etag.strip('"')

    def read(self, name):
        return self.container.download_blob(name).chunks()

    def delete(self, name):
        try:
            self.container.delete_blob(name)
        except errors.ResourceNotFoundError:
            pass

    def page(self, prefix, after, limit):
        pages = self.container.list_blobs(prefix, results_per_page=limit).by_page(after or None)
        return [(item.name, item.size) for item in next(pages, [])], pages.continuation_token
