"""Faults that a test asks for, and what the server remembers of requests: each for one container.

    POST /.control {"container": NAME, "fault": KIND, "count": 1, "method": "PUT", "comp": "block", "after": 0}
    POST /.control {"container": NAME, "skew": SECONDS}      the server's clock, as that container sees it
    POST /.control {"make": NAME}                            a container, for who cannot sign
    POST /.control {"revoke": CLIENT}                        the tokens of one client
    POST /.control {"lifetime": SECONDS}                     of the tokens that are given from now on
    GET  /.control?NAME                                      the requests so far: [[method, comp, status], ...]

Kinds: throttle (503 ServerBusy), busy (429), timeout (500 OperationTimedOut), error (500 InternalError), cut (the
connection ends in the middle of the request's body, or of the reply's), lose (it is done, and the reply never comes).
"""
import threading

from refusals import Refusal


class Faults:
    def __init__(self):
        self.lock = threading.Lock()
        self.waiting = {}
        self.skews = {}
        self.seen = {}

    def order(self, wish):
        name = wish["container"]
        with self.lock:
            if "skew" in wish:
                self.skews[name] = wish["skew"]
            if "fault" in wish:
                self.waiting.setdefault(name, []).append(
                    {"count": 1, "after": 0, "method": None, "comp": "any"} | wish)

    def skew(self, container):
        return self.skews.get(container, 0)

    def next(self, request):
        """The kind of fault that this request gets; None for most."""
        with self.lock:
            for fault in self.waiting.get(request.container, []):
                if fault["method"] not in (None, request.method) or fault["comp"] not in ("any", request.comp):
                    continue
                if fault["after"] > 0:
                    fault["after"] -= 1
                elif fault["count"] > 0:
                    fault["count"] -= 1
                    return fault["fault"]
        return None

    def note(self, request, status):
        with self.lock:
            self.seen.setdefault(request.container, []).append([request.method, request.comp, status])

    @staticmethod
    def refuse(kind):
        """Raises what the kind of fault says instead of doing anything."""
        if kind == "throttle":
            raise Refusal(503, "ServerBusy", "The server is currently unable to receive requests.", {"Retry-After": "1"})
        if kind == "busy":
            raise Refusal(429, "TooManyRequests", "Too many requests.", {"Retry-After": "1"})
        if kind == "timeout":
            raise Refusal(500, "OperationTimedOut", "Operation could not be completed within the specified time.")
        if kind == "error":
            raise Refusal(500, "InternalError", "The server encountered an internal error.")
