import Foundation
import TestSupport

/// A request to a ``FakeS3`` and the ways to answer it.
struct FakeExchange {
    let fake: FakeS3
    let request: ServerRequest
    let connection: ServerConnection

    /// The path without the bucket. Empty for the bucket itself.
    var path: String {
        let path = request.target.split(separator: "?", omittingEmptySubsequences: false)[0]
        return String(path.dropFirst("/bucket".count))
    }

    var query: [String: String] {
        let text = request.target.split(separator: "?", maxSplits: 1).dropFirst().first ?? ""
        let pairs = text.split(separator: "&").map { pair in
            let halves = pair.split(separator: "=", maxSplits: 1).map { $0.removingPercentEncoding ?? "" }
            return (halves[0], halves.count > 1 ? halves[1] : "")
        }
        return Dictionary(pairs) { first, _ in first }
    }

    var operation: FakeS3.Operation {
        let query = query
        return switch request.method {
        case "PUT": query["partNumber"] == nil ? .put : .part
        case "HEAD": .head
        case "POST": query["uploads"] == nil ? .complete : .create
        case "DELETE": query["uploadId"] == nil ? .delete : .abort
        default: query["uploads"] != nil ? .uploads : query["uploadId"] != nil ? .parts : path.isEmpty ? .list : .get
        }
    }

    /// The metadata that a HEAD of the new object returns.
    var objectFields: [String: String] {
        request.headers.filter { $0.key == "content-type" || $0.key.hasPrefix("x-amz-meta-") }
    }

    /// Processes the request and returns the reply.
    func act() throws -> FakeReply {
        let body = try connection.readBody(of: request)
        return switch operation {
        case .put: fake.put(self, body)
        case .create: fake.create(self)
        case .part: fake.part(self, body)
        case .complete: try fake.complete(self, body)
        case .abort: fake.abort(self)
        case .delete: fake.delete(self)
        case .parts: listParts()
        case .uploads: listUploads()
        case .list: listObjects()
        case .get, .head: object()
        }
    }

    func send(_ reply: FakeReply) throws {
        var text = "HTTP/1.1 \(reply.status) Text\r\n"
        if reply.status != 204 { text += "Content-Length: \(reply.body.count)\r\n" }
        for (name, value) in reply.headers { text += "\(name): \(value)\r\n" }
        try connection.send(text + "\r\n")
        if operation != .head { try connection.send(reply.body) }
    }

    /// Reads the body and replies without processing the request.
    func refuse(_ reply: FakeReply) throws {
        try connection.readBody(of: request)
        try send(reply)
    }

    /// Reads the beginning of the body.
    func readBody(_ count: Int) throws {
        if request.headers["expect"] != nil { try connection.send("HTTP/1.1 100 Continue\r\n\r\n") }
        connection.readBody(count)
    }

    private func object() -> FakeReply {
        guard let object = fake.objects[path] else { return .error(404, code: "NoSuchKey") }
        if let wanted = request.headers["if-match"], wanted != object.fields["etag"] {
            return .error(412, code: "PreconditionFailed")
        }
        guard let range = range(of: object.bytes.count) else {
            return FakeReply(200, headers: object.fields, object.bytes)
        }
        if range.isEmpty { return .error(416, code: "InvalidRange") }
        let field = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(object.bytes.count)"
        return FakeReply(
            206, headers: object.fields.merging(["content-range": field]) { $1 }, Array(object.bytes[range]))
    }

    /// Returns the requested range, clamped to the available bytes. Returns nil if the request has no range.
    private func range(of count: Int) -> Range<Int>? {
        let ends = request.headers["range"]?.dropFirst("bytes=".count).split(separator: "-").compactMap { Int($0) }
        guard let ends, ends.count == 2 else { return nil }
        return (ends[0]..<ends[1] + 1).clamped(to: 0..<count)
    }

    private func listParts() -> FakeReply {
        guard let upload = fake.uploads[query["uploadId"] ?? ""] else { return .error(404, code: "NoSuchUpload") }
        let parts = upload.parts.sorted { $0.key < $1.key }.map { number, part in
            let checksum =
                part.fields["x-amz-checksum-sha256"].map { "<ChecksumSHA256>\($0)</ChecksumSHA256>" }
                ?? part.fields["x-amz-checksum-crc64nvme"].map { "<ChecksumCRC64NVME>\($0)</ChecksumCRC64NVME>" }
            return "<Part><PartNumber>\(number)</PartNumber><ETag>\(part.fields["etag"] ?? "")</ETag>"
                + "<Size>\(part.bytes.count)</Size>\(checksum ?? "")</Part>"
        }
        return .xml(
            "<ListPartsResult>\(parts.joined())<IsTruncated>false</IsTruncated></ListPartsResult>")
    }

    private func listUploads() -> FakeReply {
        let prefix = query["prefix"] ?? ""
        let uploads = fake.uploads.filter { $0.value.path.dropFirst().hasPrefix(prefix) }.map { id, upload in
            "<Upload><Key>\(upload.path.dropFirst())</Key><UploadId>\(id)</UploadId>"
                + "<Initiated>2020-01-01T00:00:00.000Z</Initiated></Upload>"
        }
        return .xml(
            "<ListMultipartUploadsResult>\(uploads.joined())<IsTruncated>false</IsTruncated>"
                + "</ListMultipartUploadsResult>")
    }

    private func listObjects() -> FakeReply {
        let (prefix, last) = (query["prefix"] ?? "", query["continuation-token"] ?? "")
        let all = fake.objects.filter { $0.key.dropFirst().hasPrefix(prefix) && $0.key.dropFirst() > last }
            .sorted { $0.key < $1.key }
        let page = all.prefix(query["max-keys"].flatMap { Int($0) } ?? 1_000)
        let objects = page.map { path, object in
            "<Contents><Key>\(path.dropFirst())</Key><Size>\(object.bytes.count)</Size>"
                + "<ETag>\(object.fields["etag"] ?? "")</ETag></Contents>"
        }
        let next = page.last.map { "<NextContinuationToken>\($0.key.dropFirst())</NextContinuationToken>" } ?? ""
        let isCut = page.count < all.count
        return .xml(
            "<ListBucketResult>\(objects.joined())<IsTruncated>\(isCut)</IsTruncated>\(isCut ? next : "")"
                + "</ListBucketResult>")
    }
}

/// A complete reply.
struct FakeReply: Sendable {
    var status: Int
    var headers: [String: String]
    var body: [UInt8]

    init(_ status: Int, headers: [String: String] = [:], _ body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    static func xml(_ text: String, status: Int = 200, headers: [String: String] = [:]) -> FakeReply {
        FakeReply(status, headers: headers, Array("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\(text)".utf8))
    }

    /// Returns the reply of a completed upload with the checksum in base64.
    static func completed(sha256 checksum: String) -> FakeReply {
        xml(
            "<CompleteMultipartUploadResult><ETag>\"x-1\"</ETag><ChecksumSHA256>\(checksum)</ChecksumSHA256>"
                + "</CompleteMultipartUploadResult>")
    }

    /// Returns an error reply that carelessly repeats the secrets.
    static func error(_ status: Int, code: String, headers: [String: String] = [:], more: String = "") -> FakeReply {
        xml(
            "<Error><Code>\(code)</Code><Message>Not with \(Canary.secretKey) and \(Canary.token).</Message>\(more)"
                + "</Error>", status: status, headers: headers)
    }

    /// Returns the HTML page of a proxy or a captive portal.
    static func page(_ status: Int) -> FakeReply {
        FakeReply(
            status, headers: ["Content-Type": "text/html"],
            Array("<html><body>\(Canary.token) \(Canary.secretKey)<br>Please sign in</body></html>".utf8))
    }

    /// Returns the value of a `Date` field (RFC 9110, 5.6.7).
    static func date(_ date: Date) -> String {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(secondsFromGMT: 0)
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        return formatter.string(from: date)
    }
}
