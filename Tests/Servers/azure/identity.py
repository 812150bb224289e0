"""Tokens as Microsoft's identity platform gives them: for a secret, for a federated token, for a managed identity.

And user delegation keys, which are derived and not kept.
"""
import base64
import hashlib
import hmac
import json
import secrets
import threading
from urllib.parse import parse_qs

TENANT = "11111111-2222-3333-4444-555555555555"
SCOPES = ("https://storage.azure.com/.default", "https://storage.azure.com//.default")
RESOURCES = ("https://storage.azure.com", "https://storage.azure.com/")


class Identity:
    def __init__(self, secret, assertion):
        # What a client has to show: a secret, or another authority's token.
        self.secret, self.assertion = secret, assertion
        self.tokens = {}
        self.lifetime = 3600
        self.lock = threading.Lock()
        self.own = secrets.token_bytes(32)

    def answer(self, request, body, now):
        """The status and the JSON for one request."""
        if request.path.startswith("/metadata/identity/"):
            if request.method != "GET" or request.headers.get("metadata") != "true":
                return 400, {"error": "bad_request", "error_description": "Required metadata header not specified"}
            if request.query.get("resource") not in RESOURCES or not request.query.get("api-version"):
                return 400, {"error": "invalid_resource", "error_description": "resource"}
            return 200, self.token(request.query.get("client_id", "managed"), now)
        form = {name: values[0] for name, values in parse_qs(body.decode("utf-8", "replace")).items()}
        if request.method != "POST" or TENANT not in request.path or not request.path.endswith("/oauth2/v2.0/token"):
            return 404, {"error": "invalid_request", "error_description": "AADSTS90002: Tenant not found."}
        if form.get("grant_type") != "client_credentials" or form.get("scope") not in SCOPES:
            return 400, {"error": "invalid_scope", "error_description": "AADSTS70011: The scope is not valid."}
        client = form.get("client_id", "")
        if "client_assertion" in form:
            kind = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
            if form.get("client_assertion_type") != kind or form["client_assertion"] != self.assertion:
                return 401, {"error": "invalid_client", "error_description": "AADSTS700211: No matching record."}
        elif not client.startswith("client") or form.get("client_secret") != self.secret:
            return 401, {"error": "invalid_client", "error_description": "AADSTS7000215: Invalid client secret."}
        return 200, self.token(client, now)

    def token(self, client, now):
        token = f"{client}.{secrets.token_urlsafe(24)}"
        with self.lock:
            self.tokens[token] = now + self.lifetime
        return {
            "token_type": "Bearer", "expires_in": self.lifetime, "expires_on": str(int(now + self.lifetime)),
            "access_token": token, "resource": RESOURCES[0]}

    def accepts(self, token, now):
        with self.lock:
            return self.tokens.get(token, 0) > now

    def revoke(self, client):
        with self.lock:
            for token in [token for token in self.tokens if token.startswith(client + ".")]:
                del self.tokens[token]

    def delegation_key(self, *fields):
        """The value of the key that has these fields."""
        return base64.b64encode(hmac.new(self.own, json.dumps(fields).encode(), hashlib.sha256).digest()).decode()
