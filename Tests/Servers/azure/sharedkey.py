"""Signatures with the account's key: "Authorize with Shared Key"."""
import base64
import email.utils
import hashlib
import hmac
import re

from refusals import unauthenticated

# In the order of the string to sign. The length of an empty body is left out since version 2015-02-21.
FIELDS = (
    "content-encoding", "content-language", "content-length", "content-md5", "content-type", "date",
    "if-modified-since", "if-match", "if-none-match", "if-unmodified-since", "range")
SKEW = 15 * 60
FOLDED = re.compile("[ ]*[\r\n]+[ ]*")


def sign(key, text):
    return base64.b64encode(hmac.new(base64.b64decode(key), text.encode(), hashlib.sha256).digest()).decode()


def place(name):
    """Where the service sorts a header: hyphens count only between names that are equal without them."""
    letters = name.replace("-", "")
    return [(character.isalpha(), character) for character in letters], [character == "-" for character in name]


def canonical_headers(headers):
    names = sorted((name for name in headers if name.startswith("x-ms-")), key=place)
    return "".join(f"{name}:{FOLDED.sub(' ', headers[name].strip())}\n" for name in names)


def canonical_resource(request, account):
    values = {}
    for name, value in request.raw_query:
        values.setdefault(name, []).append(value)
    return f"/{account}{request.path}" + "".join(
        f"\n{name}:{','.join(sorted(values[name]))}" for name in sorted(values))


def string_to_sign(request, account):
    def field(name):
        value = request.headers.get(name, "")
        if name == "content-length" and value == "0" and request.version >= "2015-02-21":
            return ""
        return "" if name == "date" and "x-ms-date" in request.headers else value

    return "\n".join([request.method] + [field(name) for name in FIELDS] + [
        canonical_headers(request.headers) + canonical_resource(request, account)])


def check(request, account, key, now):
    """Raises a refusal unless the request is signed with the key, and lately."""
    scheme, _, rest = request.headers["authorization"].partition(" ")
    name, _, signature = rest.partition(":")
    date = request.header("x-ms-date") or request.header("date")
    if date is None:
        raise unauthenticated("Neither x-ms-date nor Date header is specified.")
    try:
        signed = email.utils.parsedate_to_datetime(date).timestamp()
    except (TypeError, ValueError):
        raise unauthenticated("The Date header in the request is incorrect.") from None
    if abs(signed - now) > SKEW:
        raise unauthenticated(f"Request date header too old: '{date}'")
    text = string_to_sign(request, account)
    if scheme != "SharedKey" or name != account or not hmac.compare_digest(sign(key, text), signature):
        raise unauthenticated(
            "The MAC signature found in the HTTP request is not the same as any computed signature. Server used "
            f"following string to sign: '{text}'.")
