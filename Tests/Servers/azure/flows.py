"""Flows of foreign clients against the stand-in; each tells what it has done, and the first that fails ends all."""
import base64
import datetime
import hashlib
import json
import os
import random
import subprocess
import sys
import time
import urllib.request

from azure.core.exceptions import HttpResponseError
from azure.storage.blob import (
    BlobBlock, BlobClient, BlobServiceClient, ContainerClient, generate_account_sas, generate_blob_sas,
    generate_container_sas)

SERVER = json.loads(os.environ["LFS_AZURE_SERVERS"])[0]
ACCOUNT, KEY, ENDPOINT = SERVER["account"], SERVER["accountKey"], SERVER["endpoint"]
ROOT = ENDPOINT.rpartition("/")[0]
CREDENTIAL = {"account_name": ACCOUNT, "account_key": KEY}
FOLDER, TOOLS = sys.argv[1], sys.argv[2:]
LATER = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)
RANDOM = random.Random(7)
FLOWS = []


def flow(function):
    FLOWS.append(function)
    return function


def service(**options):
    return BlobServiceClient(ENDPOINT, credential=CREDENTIAL, retry_total=0, **options)


def container(name):
    found = service().get_container_client(name)
    if not found.exists():
        found.create_container()
    return found


def refused(code, status, call, *arguments, **options):
    try:
        call(*arguments, **options)
    except HttpResponseError as error:
        found = error.error_code and getattr(error.error_code, "value", error.error_code)
        assert (found, error.status_code) == (code, status), (found, error.status_code, code, status)
        return
    raise AssertionError(f"not refused: {code}")


@flow
def sdk_whole():
    """azure-storage-blob: one piece, ranges, conditions, metadata, deletion"""
    store = container("sdk-whole")
    blob = store.get_blob_client("a b/ü&?.txt")
    data = RANDOM.randbytes(300_000)
    blob.upload_blob(data, metadata={"lfsname": "x", "LfsSHA256": "y"}, validate_content=True)
    found = blob.get_blob_properties()
    assert found.size == len(data) and found.metadata == {"lfsname": "x", "lfssha256": "y"}, found.metadata
    assert bytes(found.content_settings.content_md5) == hashlib.md5(data).digest()
    assert blob.download_blob().readall() == data
    assert blob.download_blob(offset=1000, length=5000).readall() == data[1000:6000]
    store.upload_blob("empty", b"")
    assert store.download_blob("empty").readall() == b""
    for option in ("md5", "crc64"):
        store.upload_blob(option, data, validate_content=option)
    etag = found.etag
    refused("BlobAlreadyExists", 409, blob.upload_blob, data)
    blob.upload_blob(b"new", overwrite=True)
    from azure.core import MatchConditions
    refused("ConditionNotMet", 412, blob.download_blob, etag=etag, match_condition=MatchConditions.IfNotModified)
    refused("ConditionNotMet", 412, blob.delete_blob, etag=etag, match_condition=MatchConditions.IfNotModified)
    refused("InvalidRange", 416, blob.download_blob, offset=100, length=5)
    blob.delete_blob()
    refused("BlobNotFound", 404, blob.download_blob)
    refused("ContainerAlreadyExists", 409, store.create_container)
    refused("ContainerNotFound", 404, service().get_blob_client("not-there", "x").download_blob)


@flow
def sdk_blocks():
    """azure-storage-blob: blocks, their list, checksums, what is refused"""
    store = container("sdk-blocks")
    blob = store.get_blob_client("blocks")
    pieces = [RANDOM.randbytes(200_000), RANDOM.randbytes(100_000)]
    names = [f"block{number}" for number in range(2)]
    blob.stage_block(names[0], pieces[0], validate_content="crc64")
    blob.stage_block(names[1], pieces[1], validate_content="md5")
    committed, waiting = blob.get_block_list("all")
    assert not committed and [(block.id, block.size) for block in waiting] == list(zip(names, map(len, pieces)))
    refused("InvalidBlobOrBlock", 400, blob.stage_block, "longer-block", b"1")
    refused("InvalidBlockList", 400, blob.commit_block_list, [BlobBlock("blockX")])
    assert [b.name for b in store.list_blobs(include=["uncommittedblobs"])] == ["blocks"] and not list(store.list_blobs())
    blob.commit_block_list([BlobBlock(name) for name in names])
    assert blob.download_blob().readall() == b"".join(pieces)
    assert blob.get_block_list("all")[1] == [] and len(blob.get_block_list("committed")[0]) == 2
    big = RANDOM.randbytes(3_000_000)
    small = service(max_block_size=1 << 18, max_single_put_size=1 << 18).get_blob_client("sdk-blocks", "big")
    small.upload_blob(big, max_concurrency=3, validate_content="crc64")
    assert small.download_blob(max_concurrency=3).readall() == big
    bad = {"x-ms-content-crc64": base64.b64encode(bytes(8)).decode()}
    refused("Crc64Mismatch", 400, blob.stage_block, names[0], b"1", headers=bad)
    both = bad | {"Content-MD5": base64.b64encode(bytes(16)).decode()}
    refused("BothCrc64AndMd5HeaderPresent", 400, blob.stage_block, names[0], b"1", headers=both)
    md5 = {"Content-MD5": base64.b64encode(bytes(16)).decode()}
    refused("Md5Mismatch", 400, blob.stage_block, names[0], b"1", headers=md5)
    refused("InvalidMetadata", 400, blob.upload_blob, b"1", overwrite=True, metadata={"lfs-name": "x"})


@flow
def sdk_pages():
    """azure-storage-blob: lists in pages, by prefix, by folder, with odd names"""
    store = container("sdk-pages")
    names = sorted([f"p/{number:03}" for number in range(25)] + ["q/<&>", "r/ü", "p", "z\u0001"])
    for name in names:
        store.upload_blob(name, b"1")
    pages = list(store.list_blobs(results_per_page=7).by_page())
    assert [blob.name for page in pages for blob in page] == names
    assert len(list(store.list_blobs(name_starts_with="p/"))) == 25
    assert sorted(item.name for item in store.walk_blobs()) == ["p", "p/", "q/", "r/", "z\u0001"]
    assert "sdk-pages" in [found.name for found in service().list_containers()]


@flow
def sdk_signatures():
    """azure-storage-blob: signatures of service, account and user delegation, and what they do not allow"""
    store = container("sdk-signatures")
    store.upload_blob("there", b"1234")

    def client(token, name="there", where="sdk-signatures"):
        return BlobClient(ENDPOINT, where, name, credential=token, retry_total=0)

    token = generate_blob_sas(ACCOUNT, "sdk-signatures", "there", account_key=KEY, permission="r", expiry=LATER)
    assert client(token).download_blob().readall() == b"1234"
    refused("AuthenticationFailed", 403, client(token, "other").download_blob)
    refused("AuthorizationPermissionMismatch", 403, client(token).delete_blob)
    refused("AuthenticationFailed", 403, client(token.replace("sig=", "sig=A")).download_blob)
    old = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(minutes=1)
    past = generate_blob_sas(ACCOUNT, "sdk-signatures", "there", account_key=KEY, permission="r", expiry=old)
    refused("AuthenticationFailed", 403, client(past).download_blob)
    whole = generate_container_sas(ACCOUNT, "sdk-signatures", account_key=KEY, permission="rwl", expiry=LATER)
    listed = ContainerClient(ENDPOINT, "sdk-signatures", credential=whole)
    assert [blob.name for blob in listed.list_blobs()] == ["there"]
    create = generate_blob_sas(ACCOUNT, "sdk-signatures", "new", account_key=KEY, permission="c", expiry=LATER)
    client(create, "new").upload_blob(b"1")
    refused("UnauthorizedBlobOverwrite", 403, client(create, "new").upload_blob, b"2", overwrite=True)
    of_account = generate_account_sas(
        ACCOUNT, KEY, resource_types="sco", permission="rwdlc", expiry=LATER)
    client(of_account, "by-account").upload_blob(b"1")
    assert len(list(BlobServiceClient(ENDPOINT, credential=of_account).list_containers())) > 0
    delegated(client)


class Token:
    """What azure-storage-blob wants of a credential; its own wants encryption on loopback too."""

    def get_token(self, *_, **__):
        from azure.core.credentials import AccessToken
        form = (
            "grant_type=client_credentials&client_id=client-sdk&scope=https://storage.azure.com/.default"
            f"&client_secret={SERVER['clientSecret']}")
        url = f"{SERVER['authority']}/{SERVER['tenant']}/oauth2/v2.0/token"
        reply = json.load(urllib.request.urlopen(urllib.request.Request(url, form.encode())))
        return AccessToken(reply["access_token"], int(reply["expires_on"]))


def delegated(client):
    now = datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0)
    users = raw_delegation_key(now - datetime.timedelta(minutes=1), now + datetime.timedelta(hours=1))
    token = generate_blob_sas(
        ACCOUNT, "sdk-signatures", "there", user_delegation_key=users, permission="r", expiry=LATER)
    assert client(token).download_blob().readall() == b"1234"
    length = {"content-length": "5", "x-ms-blob-type": "BlockBlob"}
    bound = generate_blob_sas(
        ACCOUNT, "sdk-signatures", "bound", user_delegation_key=users, permission="c", expiry=LATER,
        request_headers=length)
    refused("AuthenticationFailed", 403, client(bound, "bound").upload_blob, b"123456")
    client(bound, "bound").upload_blob(b"12345")
    block = base64.b64encode(b"block0").decode()
    query = generate_blob_sas(
        ACCOUNT, "sdk-signatures", "query", user_delegation_key=users, permission="w", expiry=LATER,
        request_query_params={"comp": "block", "blockid": block})
    client(query, "query").stage_block("block0", b"1")
    refused("AuthenticationFailed", 403, client(query, "query").stage_block, "block1", b"1")
    refused("AuthenticationFailed", 403, client(query, "query").commit_block_list, [BlobBlock("block0")])


def raw_delegation_key(start, end):
    """The library sends tokens over https only, so this one request is written by hand."""
    import xml.etree.ElementTree as ElementTree
    from azure.storage.blob import UserDelegationKey
    form = "%Y-%m-%dT%H:%M:%SZ"
    body = f"<KeyInfo><Start>{start.strftime(form)}</Start><Expiry>{end.strftime(form)}</Expiry></KeyInfo>"
    request = urllib.request.Request(
        f"{ENDPOINT}/?restype=service&comp=userdelegationkey", body.encode(), method="POST",
        headers={"Authorization": f"Bearer {Token().get_token().token}", "x-ms-version": "2026-04-06"})
    reply = ElementTree.fromstring(urllib.request.urlopen(request).read())
    key = UserDelegationKey()
    for name, field in (
            ("SignedOid", "signed_oid"), ("SignedTid", "signed_tid"), ("SignedStart", "signed_start"),
            ("SignedExpiry", "signed_expiry"), ("SignedService", "signed_service"),
            ("SignedVersion", "signed_version"), ("Value", "value")):
        setattr(key, field, reply.findtext(name))
    return key


@flow
def sdk_access():
    """azure-storage-blob: a wrong key, a wrong clock, a busy server"""
    store = container("sdk-access")
    wrong = BlobServiceClient(
        ENDPOINT, credential=CREDENTIAL | {"account_key": base64.b64encode(b"wrong").decode()}, retry_total=0)
    refused("AuthenticationFailed", 403, wrong.get_container_client("sdk-access").get_container_properties)
    anybody = BlobServiceClient(ENDPOINT, retry_total=0)
    refused("NoAuthenticationInformation", 401, anybody.get_container_client("sdk-access").get_container_properties)
    for order, code, status in (
            ({"fault": "throttle"}, "ServerBusy", 503), ({"fault": "timeout"}, "OperationTimedOut", 500)):
        control({"container": "sdk-access"} | order)
        refused(code, status, store.upload_blob, "x", b"1")
    control({"container": "sdk-access", "skew": 3600})
    refused("AuthenticationFailed", 403, store.get_container_properties)
    control({"container": "sdk-access", "skew": 0})
    store.get_container_properties()


def control(order):
    urllib.request.urlopen(urllib.request.Request(f"{ROOT}/.control", json.dumps(order).encode())).read()


def obstore_flow(name, **options):
    import obstore
    from obstore.store import AzureStore
    container(name)
    store = AzureStore(
        name, account_name=ACCOUNT, endpoint=ENDPOINT, client_options={"allow_http": True}, **options)
    data = RANDOM.randbytes(6_000_000)
    obstore.put(store, "small/a", b"hello")
    obstore.put(store, "big", data, chunk_size=1 << 20, use_multipart=True, max_concurrency=4)
    assert bytes(obstore.get(store, "big").bytes()) == data
    assert bytes(obstore.get_range(store, "big", start=5, end=50)) == data[5:50]
    listed = {item["path"]: item["size"] for batch in obstore.list(store) for item in batch}
    assert listed == {"small/a": 5, "big": len(data)}, listed
    try:
        obstore.put(store, "small/a", b"other", mode="create")
        raise AssertionError("created twice")
    except obstore.exceptions.AlreadyExistsError:
        pass
    obstore.delete(store, "small/a")
    try:
        obstore.head(store, "small/a")
        raise AssertionError("still there")
    except FileNotFoundError:
        pass


@flow
def obstore_key():
    """obstore: the account's key"""
    obstore_flow("obstore-key", account_key=KEY)


@flow
def obstore_secret():
    """obstore: a client's secret"""
    obstore_flow(
        "obstore-secret", client_id="client-obstore", client_secret=SERVER["clientSecret"],
        tenant_id=SERVER["tenant"], authority_host=SERVER["authority"])


@flow
def obstore_federated():
    """obstore: a federated token"""
    obstore_flow(
        "obstore-federated", client_id="client-federated", federated_token_file=SERVER["federatedTokenFile"],
        tenant_id=SERVER["tenant"], authority_host=SERVER["authority"])


@flow
def obstore_managed():
    """obstore: a managed identity"""
    obstore_flow("obstore-managed", msi_endpoint=f"{ROOT}/metadata/identity/oauth2/token")


def rclone(tool, name, *options):
    container(name)
    source, copy = os.path.join(FOLDER, name), os.path.join(FOLDER, name + "-copy")
    os.makedirs(os.path.join(source, "inside"))
    for path, size in (("a.bin", 1_200_000), ("inside/ü b.txt", 10), ("inside/empty", 0)):
        with open(os.path.join(source, path), "wb") as file:
            file.write(RANDOM.randbytes(size))
    remote = f':azureblob,account={ACCOUNT},key="{KEY}",{",".join(options)}:{name}'
    open(os.path.join(FOLDER, "rclone.conf"), "a").close()
    config = ["--config", os.path.join(FOLDER, "rclone.conf"), "--azureblob-chunk-size", "256k", "--retries", "1"]
    if "1.60" in version(tool):
        config += ["--azureblob-upload-cutoff", "256k"]

    def run(*arguments):
        result = subprocess.run([tool, *config, *arguments], capture_output=True, text=True, timeout=60)
        assert result.returncode == 0, result.stderr[:6000]
        return result.stdout + result.stderr

    run("copy", source, remote)
    assert " 0 differences found" in run("check", "--download", source, remote)
    run("copy", remote, copy)
    assert subprocess.run(["diff", "-r", source, copy]).returncode == 0
    run("delete", remote)
    assert run("lsf", "-R", "--files-only", remote) == ""


def version(tool):
    return subprocess.run([tool, "version"], capture_output=True, text=True).stdout.splitlines()[0]


@flow
def rclone_new():
    """rclone of PyPI: copy in chunks, check, copy back, delete"""
    rclone(TOOLS[0], "rclone-new", f'endpoint="{ENDPOINT}"')


@flow
def rclone_debian():
    """rclone of Debian: the same"""
    rclone(TOOLS[1], "rclone-debian", f'endpoint="{ENDPOINT}"', "use_emulator=true")


@flow
def opendal_flow():
    """opendal: write in blocks, read ranges, list, delete"""
    import opendal
    container("opendal")
    operator = opendal.Operator(
        "azblob", container="opendal", endpoint=ENDPOINT, account_name=ACCOUNT, account_key=KEY, root="/below")
    data = RANDOM.randbytes(2_500_000)
    operator.write("folder/file", data, chunk=1 << 20)
    operator.write("folder/small", b"1")
    assert bytes(operator.read("folder/file")) == data
    assert operator.stat("folder/file").content_length == len(data)
    assert sorted(entry.path for entry in operator.list("folder/") if not entry.path.endswith("/")) == [
        "folder/file", "folder/small"]
    operator.delete("folder/file")
    assert not operator.exists("folder/file")


@flow
def adlfs_flow():
    """adlfs: a connection string, blocks, lists, deletion"""
    import adlfs
    container("adlfs")
    text = f"DefaultEndpointsProtocol=http;AccountName={ACCOUNT};AccountKey={KEY};BlobEndpoint={ENDPOINT};"
    system = adlfs.AzureBlobFileSystem(connection_string=text)
    data = RANDOM.randbytes(1_500_000)
    with system.open("adlfs/folder/file", "wb", block_size=1 << 19) as file:
        file.write(data)
    assert system.cat("adlfs/folder/file") == data
    assert system.ls("adlfs/folder") == ["adlfs/folder/file"]
    assert system.cat_file("adlfs/folder/file", start=7, end=70) == data[7:70]
    system.rm("adlfs/folder/file")
    assert not system.exists("adlfs/folder/file")


if __name__ == "__main__":
    for run in FLOWS:
        start = time.monotonic()
        run()
        print(f"ok  {time.monotonic() - start:5.2f} s  {run.__doc__}", flush=True)
    print(f"{len(FLOWS)} flows passed")
