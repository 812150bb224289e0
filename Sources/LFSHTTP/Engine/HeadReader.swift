import Foundation

/// Puts a reply's head together from its lines, past interim replies (1xx).
struct HeadReader {
    private var current: HTTPResponseHead?
    private var isComplete = false

    /// Takes one line, with its end. Returns the head when this line ends it; an interim reply's head is dropped.
    ///
    /// - Throws: ``HTTPError/Code/invalidReply`` for a head that can be understood in two ways.
    mutating func take(_ line: UnsafeRawBufferPointer) throws(HTTPError) -> HTTPResponseHead? {
        var line = line
        while let last = line.last, last == UInt8(ascii: "\r") || last == UInt8(ascii: "\n") {
            line = UnsafeRawBufferPointer(rebasing: line.dropLast())
        }
        if line.isEmpty { return try end() }
        let text = String(decoding: line, as: UTF8.self)
        if text.hasPrefix("HTTP/") {
            let status = text.split(separator: " ", maxSplits: 2).dropFirst().first.flatMap { Int($0) }
            guard let status, (100..<600).contains(status) else {
                throw HTTPError(.invalidReply, "The reply has no status that makes sense.")
            }
            current = HTTPResponseHead(status: status)
            isComplete = false
        } else if !isComplete, let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) {
            // After the head, trailers come the same way; nothing here uses them.
            let value = text[text.index(after: colon)...].trimmingCharacters(in: .whitespaces)
            current?.headers.append(received: String(text[..<colon]), value)
        }
        return nil
    }

    private mutating func end() throws(HTTPError) -> HTTPResponseHead? {
        guard let head = current, !isComplete else { return nil }
        guard head.status >= 200 else {
            current = nil
            return nil
        }
        isComplete = true
        guard Set(head.headers.values("content-length")).count <= 1 else {
            throw HTTPError(.invalidReply, "The reply announces two lengths.")
        }
        return head
    }
}
