"""Shared access signatures: of the service, of the account, and by user delegation.

The strings to sign are those of "Create a service SAS", "Create an account SAS" and "Create a user delegation SAS". A user
delegation signature binds header fields (srh) and query parameters (srq) from version 2026-04-06 on.
"""
import datetime
import hmac
from urllib.parse import unquote

from refusals import Refusal, unauthenticated
from sharedkey import sign


def moment(text):
    for form in ("%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%MZ", "%Y-%m-%d"):
        try:
            return datetime.datetime.strptime(text, form).replace(tzinfo=datetime.timezone.utc).timestamp()
        except ValueError:
            continue
    raise unauthenticated(f"A time of the signature is not in the right form: {text}")


def check(request, account, key, delegation_key, now):
    """Raises a refusal for a wrong signature. Returns the permissions and what they hold for.

    `delegation_key` takes the fields of a user delegation key and gives its value.
    """
    query = request.query
    version = query.get("sv", "")
    if version < "2018-11-09" or len(version) != 10:
        raise unauthenticated("The signed version is not one that is known.")
    if "se" not in query or now >= moment(query["se"]):
        raise unauthenticated(f"Signed expiry time [{query.get('se')}] has to be after signed start time.")
    if query.get("st") and now < moment(query["st"]):
        raise unauthenticated("Signature not valid yet.")
    if query.get("spr") == "https":
        raise Refusal(403, "AuthorizationProtocolMismatch", "This request is not authorized using this protocol.")
    if "ss" in query:
        text, value, scope = account_string(query, account, version), key, Account(query)
    else:
        scope = Resource(query, request)
        if "skoid" in query:
            if now >= moment(query.get("ske", "")) or now < moment(query.get("skt", "")):
                raise unauthenticated("The user delegation key is not valid at this time.")
            value = delegation_key(*(query.get(name, "") for name in ("skoid", "sktid", "skt", "ske", "sks", "skv")))
        else:
            value = key
        text = resource_string(request, account, version, scope)
    if not hmac.compare_digest(sign(value, text), query.get("sig", "")):
        raise unauthenticated(f"Signature did not match. String to sign used was {text}")
    return query.get("sp", ""), scope


def account_string(query, account, version):
    names = ["sp", "ss", "srt", "st", "se", "sip", "spr", "sv"] + (["ses"] if version >= "2020-12-06" else [])
    return "".join(text + "\n" for text in [account] + [query.get(name, "") for name in names])


def resource_string(request, account, version, scope):
    query = request.query
    lines = [query.get(name, "") for name in ("sp", "st", "se")]
    lines.append(f"/blob/{account}/{scope.path}")
    is_delegated = "skoid" in query
    if is_delegated:
        lines += [query.get(name, "") for name in ("skoid", "sktid", "skt", "ske", "sks", "skv")]
        lines += [query.get(name, "") for name in ("saoid", "suoid", "scid")]
        if version >= "2025-07-05":
            lines += [query.get(name, "") for name in ("skdutid", "sduoid")]
    else:
        lines.append(query.get("si", ""))
    lines += [query.get(name, "") for name in ("sip", "spr", "sv", "sr")] + [query.get("snapshot", "")]
    if version >= "2020-12-06":
        lines.append(query.get("ses", ""))
    if is_delegated and version >= "2026-04-06":
        lines.append("".join(f"{name}:{request.headers.get(name.lower(), '')}\n" for name in names(query, "srh")))
        lines.append("".join(f"\n{name}:{request.query.get(name.lower(), '')}" for name in names(query, "srq")))
    elif "srh" in query or "srq" in query:
        raise unauthenticated("This version binds no header fields and no query parameters.")
    return "\n".join(lines + [query.get(name, "") for name in ("rscc", "rscd", "rsce", "rscl", "rsct")])


def names(query, parameter):
    return [unquote(name) for name in query.get(parameter, "").split(",") if name]


class Account:
    """An account's signature: for services and for kinds of resources."""

    def __init__(self, query):
        self.services, self.types = query.get("ss", ""), query.get("srt", "")

    def covers(self, kind):
        return "b" in self.services and {"service": "s", "container": "c", "blob": "o"}[kind] in self.types


class Resource:
    """A signature for a blob or a container."""

    def __init__(self, query, request):
        self.kind = {"b": "blob", "c": "container"}.get(query.get("sr"))
        if self.kind is None or request.container is None or (self.kind == "blob" and request.blob is None):
            raise unauthenticated("The signature is not for this resource.")
        self.path = request.container if self.kind == "container" else f"{request.container}/{request.blob}"

    def covers(self, kind):
        return kind == "blob" or (kind == "list" and self.kind == "container")
