import Foundation

/// A reply as it was received.
struct HTTPReply: Sendable {
    let status: Int
    /// The headers with lowercase names, each with all its values.
    let headers: [String: [String]]
    let body: Data

    var text: String { String(decoding: body, as: UTF8.self) }

    func header(_ name: String) -> String? { headers[name.lowercased()]?.first }

    /// Parses a reply. The result is nil for anything else, such as a closed connection.
    init?(_ bytes: Data) {
        guard let end = bytes.firstRange(of: Data("\r\n\r\n".utf8)) else { return nil }
        let lines = String(decoding: bytes[..<end.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
        let first = lines[0].split(separator: " ")
        guard first.count > 1, first[0] == "HTTP/1.1", let status = Int(first[1]) else { return nil }
        var headers: [String: [String]] = [:]
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: ":") else { return nil }
            let value = line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
            headers[line[..<colon].lowercased(), default: []].append(value)
        }
        self.status = status
        self.headers = headers
        let rest = Data(bytes[end.upperBound...])
        body = headers["transfer-encoding"] == ["chunked"] ? Self.joined(rest) : rest
    }

    /// Joins the chunks of RFC 9112, section 7.1.
    private static func joined(_ bytes: Data) -> Data {
        var (rest, body) = (bytes[...], Data())
        while let end = rest.firstRange(of: Data("\r\n".utf8)),
            let count = Int(String(decoding: rest[..<end.lowerBound], as: UTF8.self), radix: 16), count > 0
        {
            body += rest[end.upperBound...].prefix(count)
            rest = rest[end.upperBound...].dropFirst(count + 2)
        }
        return body
    }
}
