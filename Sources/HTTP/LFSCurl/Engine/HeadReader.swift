import LFSHTTP

/// A parser that assembles a reply's head from its lines and skips interim replies (1xx).
struct HeadReader {
    private var current: HTTPResponseHead?
    private var isComplete = false

    /// Adds one line, including its line break. Returns the head if this line completes it. Heads of interim replies
    /// are dropped.
    ///
    /// - Throws: ``HTTPError/Code/invalidReply`` for an ambiguous head.
    mutating func take(_ line: UnsafeRawBufferPointer) throws(HTTPError) -> HTTPResponseHead? {
        var line = line
        while let last = line.last, last == UInt8(ascii: "\r") || last == UInt8(ascii: "\n") {
            line = UnsafeRawBufferPointer(rebasing: line.dropLast())
        }
        if line.isEmpty { return try end() }
        // The first letter alone decides for almost all lines.
        if line[0] == UInt8(ascii: "H"), line.starts(with: "HTTP/".utf8) {
            current = HTTPResponseHead(status: try Self.status(line))
            isComplete = false
        } else if !isComplete, let colon = line.firstIndex(of: UInt8(ascii: ":")) {
            // After the body, trailers arrive in the same way. They are not used.
            let (name, value) = (Self.text(line[..<colon]), Self.text(Self.trimmed(line[(colon + 1)...])))
            // Otherwise the last length would win, and so would an attacker who can add a field.
            if colon == 14, let length = current?.contentLengthField,
                HTTPHeaders.isEqual(name, other: "content-length"),
                length != value
            {
                throw HTTPError(.invalidReply, message: "The reply has two different lengths.")
            }
            current?.headers.append(received: name, value)
        }
        return nil
    }

    /// Parses the status, such as `200` in `HTTP/1.1 200 OK`.
    private static func status(_ line: UnsafeRawBufferPointer) throws(HTTPError) -> Int {
        let rest = line.drop { $0 != UInt8(ascii: " ") }.drop { $0 == UInt8(ascii: " ") }
        guard let status = Int(text(rest.prefix { $0 != UInt8(ascii: " ") })), (100..<600).contains(status) else {
            throw HTTPError(.invalidReply, message: "The reply has no valid status.")
        }
        return status
    }

    private static func text(_ bytes: Slice<UnsafeRawBufferPointer>) -> String {
        String(decoding: bytes, as: UTF8.self)
    }

    /// Returns the bytes without leading and trailing spaces and tabs.
    private static func trimmed(_ bytes: Slice<UnsafeRawBufferPointer>) -> Slice<UnsafeRawBufferPointer> {
        var rest = bytes
        while let first = rest.first, isSpace(first) { rest.removeFirst() }
        while let last = rest.last, isSpace(last) { rest.removeLast() }
        return rest
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }

    private mutating func end() throws(HTTPError) -> HTTPResponseHead? {
        guard let head = current, !isComplete else { return nil }
        guard head.status >= 200 else {
            current = nil
            return nil
        }
        isComplete = true
        return head
    }
}
