import LFSHTTP

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
        // The first letter alone settles it for almost all lines.
        if line[0] == UInt8(ascii: "H"), line.starts(with: "HTTP/".utf8) {
            current = HTTPResponseHead(status: try Self.status(line))
            isComplete = false
        } else if !isComplete, let colon = line.firstIndex(of: UInt8(ascii: ":")) {
            // After the head, trailers come the same way; nothing here uses them.
            let (name, value) = (Self.text(line[..<colon]), Self.text(Self.trimmed(line[(colon + 1)...])))
            // The last one would win, and with it whoever could add it.
            if colon == 14, let length = current?.contentLengthField, HTTPHeaders.isEqual(name, "content-length"),
                length != value
            {
                throw HTTPError(.invalidReply, "The reply announces two lengths.")
            }
            current?.headers.append(received: name, value)
        }
        return nil
    }

    /// `200` of `HTTP/1.1 200 OK`.
    private static func status(_ line: UnsafeRawBufferPointer) throws(HTTPError) -> Int {
        let rest = line.drop { $0 != UInt8(ascii: " ") }.drop { $0 == UInt8(ascii: " ") }
        guard let status = Int(text(rest.prefix { $0 != UInt8(ascii: " ") })), (100..<600).contains(status) else {
            throw HTTPError(.invalidReply, "The reply has no status that makes sense.")
        }
        return status
    }

    private static func text(_ bytes: Slice<UnsafeRawBufferPointer>) -> String {
        String(decoding: bytes, as: UTF8.self)
    }

    /// Without the spaces and tabs around it.
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
