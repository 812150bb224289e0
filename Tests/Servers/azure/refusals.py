"""What the service refuses, in its own words (Blob service REST API, "Blob service error codes")."""
from xml.sax.saxutils import escape


class Refusal(Exception):
    """A refusal: its status, its code, and what else the reply says."""

    def __init__(self, status, code, message="", headers=None, fields=None):
        super().__init__(code)
        self.status = status
        self.code = code
        self.message = message or f"The request was refused: {code}."
        self.headers = headers or {}
        self.fields = fields or {}

    def body(self, request_id):
        fields = "".join(f"<{name}>{escape(text)}</{name}>" for name, text in self.fields.items())
        return (
            '<?xml version="1.0" encoding="utf-8"?>\n'
            f"<Error><Code>{self.code}</Code><Message>{escape(self.message)}\nRequestId:{request_id}</Message>"
            f"{fields}</Error>"
        ).encode()


def unauthenticated(detail):
    return Refusal(
        403, "AuthenticationFailed",
        "Server failed to authenticate the request. Make sure the value of Authorization header is formed correctly "
        "including the signature.", fields={"AuthenticationErrorDetail": detail})


def bad_header(name, value):
    return Refusal(
        400, "InvalidHeaderValue", "The value for one of the HTTP headers is not in the correct format.",
        fields={"HeaderName": name, "HeaderValue": value})


def missing_header(name):
    return Refusal(400, "MissingRequiredHeader", "A required header was not set.", fields={"HeaderName": name})


def bad_query(name, value, code="InvalidQueryParameterValue"):
    return Refusal(
        400, code, "Value for one of the query parameters specified in the request URI is invalid.",
        fields={"QueryParameterName": name, "QueryParameterValue": value})


def missing_blob():
    return Refusal(404, "BlobNotFound", "The specified blob does not exist.")
