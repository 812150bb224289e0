"""Several deletions in one request ("Blob Batch"): each is signed by itself, and has a reply of its own."""
import re

from refusals import Refusal, bad_header
from request import Request


def answer(request, body, account, perform):
    """`perform` carries one request out and returns status, header fields and body."""
    boundary = re.fullmatch(r'multipart/mixed; *boundary="?([^";]+)"?', request.required("content-type"))
    if not boundary:
        raise bad_header("content-type", request.header("content-type"))
    parts = body.split(b"--" + boundary[1].encode())[1:-1]
    if not 1 <= len(parts) <= 256:
        raise Refusal(400, "InvalidInput", "One of the request inputs is not valid.")
    replies = []
    for part in parts:
        _, _, inner = part.decode().replace("\r\n", "\n").strip("\n").partition("\n\n")
        number = re.search(r"(?im)^content-id: *(\S+)", part.decode())
        line, *fields = [line for line in inner.split("\n") if line]
        method, target, _ = line.split(" ")
        headers = [tuple(text.strip() for text in field.split(":", 1)) for field in fields]
        # What the whole request says of its version holds for all.
        one = Request(method, target, headers, account)
        one.headers.setdefault("x-ms-version", request.header("x-ms-version"))
        try:
            if method != "DELETE":
                raise Refusal(400, "InvalidInput", "Only deletions are known here.")
            status, found, _ = perform(one)
        except Refusal as refusal:
            status, found = refusal.status, {"x-ms-error-code": refusal.code}
        head = "".join(f"{name}: {value}\r\n" for name, value in found.items())
        replies.append(
            f"--reply\r\nContent-Type: application/http\r\nContent-ID: {number[1] if number else 0}\r\n\r\n"
            f"HTTP/1.1 {status} {'Accepted' if status < 300 else 'Refused'}\r\n{head}\r\n")
    text = "".join(replies) + "--reply--\r\n"
    return 202, {"Content-Type": "multipart/mixed; boundary=reply"}, text.encode()
