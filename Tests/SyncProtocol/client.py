"""A device in Python, written from the page "The protocol of sync" alone: it keeps its rows in dictionaries.

    device = Device("http://127.0.0.1:8585", token, ["FileV1", "UploaderDocumentV1"])
    device.put("UploaderDocumentV1", "d1", {"title": "a"})
    device.synchronize()
    device.rows["UploaderDocument"]["d1"]
"""
import http.client, json, urllib.parse, uuid


class Refused(Exception):
    """A status before the first byte of an answer."""

    def __init__(self, status, error):
        super().__init__(f"{status} {error.get('code')}: {error.get('message')}")
        self.status, self.code = status, error.get("code")


class Cut(Exception):
    """A stream that has no end. What came before counts."""


class Device:
    def __init__(self, server, token, types):
        self.server, self.token, self.types = urllib.parse.urlsplit(server), token, types
        self.rows = {name(type): {} for type in types}
        self.scopes = {}  # of each row that came: which scopes give it
        self.positions = {}  # of each type and scope: the token that says how far it is
        self.said = {}  # the same, as the server has it
        self.batch, self.batch_id = 0, "none"
        self.sequence, self.outbox, self.results = 0, [], []
        self.account = None

    # What goes up

    def put(self, type, key, data): self.outbox.append(("put", type, key, data))

    def patch(self, type, key, data): self.outbox.append(("patch", type, key, data))

    def delete(self, type, key): self.outbox.append(("delete", type, key, None))

    def push(self):
        """Sends what waits; the answers are in `results`."""
        lines = []
        for number, (op, type, key, data) in enumerate(self.outbox[:500], self.sequence + 1):
            line = {"id": str(uuid.uuid4()), "seq": number, "type": type, "op": op, "key": key}
            lines.append(line if data is None else line | {"data": data})
        if not lines:
            return
        body = "".join(json.dumps(line) + "\n" for line in lines)
        with self.request("push", body.encode()) as answer:
            results = [json.loads(line) for line in answer.read().splitlines()]
        assert [result["seq"] for result in results] == [line["seq"] for line in lines]
        self.results += results
        self.sequence += len(lines)
        del self.outbox[:500]

    # What comes down

    def stream(self, cut_after=None):
        """Takes one stream; True when it was whole."""
        acks = {"batch": self.batch, "id": self.batch_id, "acks": []}
        body = {"protocol": 1, "types": self.types, "acks": acks}
        with self.request("stream", json.dumps(body).encode()) as answer:
            assert answer.headers["content-type"] == "application/jsonlines+json"
            text = answer.read(cut_after) if cut_after else answer.read()
        whole = False
        for line in text.split(b"\n")[:-1]:  # what stands behind the last one was cut off
            whole = self.take(json.loads(line))
        return whole

    def take(self, line):
        """Takes a line; True when it ends the stream as a whole."""
        kind, data = line["type"], line.get("data", {})
        if kind == "SyncHeartbeatV1" or "ack" not in line and kind != "SyncErrorV1":
            return False
        if kind == "SyncErrorV1":
            raise Refused(200, data)
        type, scope, position, epoch = line["ack"].split("|")
        if kind == "SyncCompleteV1":
            self.account = scope
            return True
        if kind == "SyncResetV1":
            if "types" not in data and "scopes" not in data:
                self.positions, self.said, self.sequence = {}, {}, 0
                for rows in self.rows.values():
                    rows.clear()
            self.positions[type, scope] = line["ack"]
            return True
        if kind == "ScopeDeleteV1":
            for (table, key), scopes in list(self.scopes.items()):
                if scope in scopes:
                    self.forget(table, key, scope)
            self.positions = {place: token for place, token in self.positions.items() if place[1] != scope}
            self.said = {place: token for place, token in self.said.items() if place[1] != scope}
        elif kind == name(type) + "DeleteV" + version(type):
            self.forget(name(type), data["id"], scope)
        elif kind == type:
            self.rows[name(type)][data["id"]] = data
            self.scopes.setdefault((name(type), data["id"]), set()).add(scope)
        elif kind != "SyncAckV1":
            return False  # of a newer server
        self.positions[type, scope] = line["ack"]
        return False

    def forget(self, table, key, scope):
        scopes = self.scopes.get((table, key), set())
        scopes.discard(scope)
        if not scopes:
            self.rows[table].pop(key, None)
            self.scopes.pop((table, key), None)

    def acknowledge(self):
        """Says how far it is, as often as that takes."""
        while tokens := [t for place, t in self.positions.items() if self.said.get(place) != t][:1000]:
            number, id = self.batch + 1, str(uuid.uuid4())
            self.request("ack", json.dumps({"batch": number, "id": id, "acks": tokens}).encode(), 204).close()
            self.batch, self.batch_id = number, id
            self.said.update({place: t for place, t in self.positions.items() if t in tokens})

    def synchronize(self):
        while self.outbox:
            self.push()
        while True:
            whole = self.stream()
            resets = any(type == "SyncResetV1" for type, _ in self.positions)
            self.acknowledge()
            for place in [place for place in self.positions if place[0] in ("SyncResetV1", "ScopeDeleteV1")]:
                del self.positions[place]
                self.said.pop(place, None)
            if not whole:
                raise Cut()
            if not resets:
                return

    def request(self, path, body, status=200):
        connection = http.client.HTTPConnection(self.server.hostname, self.server.port, timeout=60)
        kind = "application/jsonlines+json" if path == "push" else "application/json"
        headers = {"authorization": "Bearer " + self.token, "content-type": kind}
        connection.request("POST", f"{self.server.path}/v1/sync/{path}", body, headers)
        answer = connection.getresponse()
        if answer.status != status:
            raise Refused(answer.status, json.loads(answer.read()).get("error", {}))
        return answer


def name(type): return type[: type.rindex("V")]


def version(type): return type[type.rindex("V") + 1 :]
