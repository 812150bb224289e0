import Foundation
import Synchronization

#if canImport(Glibc)
import Glibc
#endif

/// An S3 server whose answers a test defines. The mutex owns the state.
final class AnsweringServer: Sendable {
    struct Request {
        var method: String
        var path: String
        /// The header names are in lower case.
        var headers: [String: String]
        var body: Data
    }

    struct Answer {
        var status = 200
        var headers: [String: String] = [:]
        var body = Data()

        /// Returns a successful reply whose entity tag is the MD5 of the body.
        static func uploaded(_ request: Request) -> Answer {
            let sum = request.headers["content-md5"].flatMap { Data(base64Encoded: $0) } ?? Data()
            return Answer(headers: ["etag": "\"\(sum.map { String(format: "%02x", $0) }.joined())\""])
        }

        /// The reply of a sign-in page in front of the server.
        static let signIn = Answer(
            status: 403, headers: ["content-type": "text/html"], body: Data("<html>Sign in</html>".utf8))

        static func failure(_ status: Int, code: String) -> Answer {
            Answer(
                status: status, headers: ["content-type": "application/xml"],
                body: Data("<?xml version=\"1.0\"?><Error><Code>\(code)</Code><Message>No.</Message></Error>".utf8))
        }
    }

    let url: URL
    private let listener: Int32
    private let answer: @Sendable (Request, _ number: Int) -> Answer
    private let state = Mutex((count: 0, firstRefusal: ContinuousClock.Instant?.none))

    /// The number of answered requests.
    var count: Int { state.withLock { $0.count } }
    /// The time since the first refusal. It is zero before a refusal.
    var refused: Duration { state.withLock { $0.firstRefusal.map { ContinuousClock.now - $0 } ?? .zero } }

    /// Returns a server whose bucket `photos` is missing until a client creates it.
    ///
    /// - Parameter creations: the number of requests that created it.
    static func withoutBucket(_ creations: Counter) throws -> AnsweringServer {
        try AnsweringServer { request, _ in
            let isBucket = request.path.prefix { $0 != "?" }.split(separator: "/") == ["photos"]
            if isBucket, request.method == "PUT" {
                creations.increase()
                return .init()
            }
            guard creations.value > 0 else { return .failure(404, code: "NoSuchBucket") }
            return isBucket ? .init() : .uploaded(request)
        }
    }

    /// A number that several threads increase. The mutex owns it.
    final class Counter: Sendable {
        private let number = Mutex(0)

        var value: Int { number.withLock { $0 } }

        func increase() { number.withLock { $0 += 1 } }
    }

    /// - Parameter answer: receives a request and the number of earlier requests. It is called from any thread.
    init(_ answer: @escaping @Sendable (Request, _ number: Int) -> Answer) throws {
        self.answer = answer
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let listener = listener
        let failed = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { raw in
                bind(listener, raw, length) != 0 || listen(listener, 64) != 0
                    || getsockname(listener, raw, &length) != 0
            }
        }
        guard !failed, let url = URL(string: "http://127.0.0.1:\(UInt16(bigEndian: address.sin_port))") else {
            throw POSIXError(.init(rawValue: errno) ?? .EIO)
        }
        self.url = url
        Thread.detachNewThread { self.accept() }
    }

    /// Accepts no more connections. Open connections end with their clients.
    func close() { shutdown(listener, Int32(SHUT_RDWR)) }

    /// The bucket as a command-line argument.
    var storage: String { "s3://photos?endpoint=\(url.absoluteString)&addressing=path&region=x" }
    let environment = ["AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"]

    private func accept() {
        while true {
            let client = Glibc.accept(listener, nil, nil)
            guard client >= 0 else { break }
            Thread.detachNewThread { self.serve(client) }
        }
        _ = Glibc.close(listener)
    }

    private func serve(_ client: Int32) {
        defer { _ = Glibc.close(client) }
        var received = Data()
        while let request = Self.read(client, received: &received) {
            let number = state.withLock { state in
                defer { state.count += 1 }
                return state.count
            }
            let answer = answer(request, number)
            if answer.status >= 400 { state.withLock { $0.firstRefusal = $0.firstRefusal ?? .now } }
            var head = "HTTP/1.1 \(answer.status) X\r\ncontent-length: \(answer.body.count)\r\n"
            for (name, value) in answer.headers { head += "\(name): \(value)\r\n" }
            let reply = Data((head + "\r\n").utf8) + (request.method == "HEAD" ? Data() : answer.body)
            let sent = reply.withUnsafeBytes { send(client, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard sent == reply.count else { return }
        }
    }

    private static func read(_ client: Int32, received: inout Data) -> Request? {
        let end = Data("\r\n\r\n".utf8)
        while received.range(of: end) == nil { guard fill(client, received: &received) else { return nil } }
        guard let range = received.range(of: end) else { return nil }
        let lines = String(decoding: received[..<range.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
        received = Data(received[range.upperBound...])
        let words = lines[0].split(separator: " ").map(String.init)
        guard words.count == 3 else { return nil }
        var headers: [String: String] = [:]
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            if parts.count == 2 { headers[parts[0].lowercased()] = parts[1].trimmingCharacters(in: .whitespaces) }
        }
        let byteCount = headers["content-length"].flatMap { Int($0) } ?? 0
        if headers["expect"] != nil {
            let go = Data("HTTP/1.1 100 Continue\r\n\r\n".utf8)
            _ = go.withUnsafeBytes { send(client, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
        }
        while received.count < byteCount { guard fill(client, received: &received) else { return nil } }
        let body = Data(received.prefix(byteCount))
        received = Data(received.dropFirst(byteCount))
        return Request(method: words[0], path: words[1], headers: headers, body: body)
    }

    private static func fill(_ client: Int32, received: inout Data) -> Bool {
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        let count = recv(client, &buffer, buffer.count, 0)
        if count > 0 { received.append(contentsOf: buffer[..<count]) }
        return count > 0
    }
}
