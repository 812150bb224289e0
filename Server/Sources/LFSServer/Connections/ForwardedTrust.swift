import HTTPTypes

/// The rule by which a server finds the address of a client behind proxies.
public enum ForwardedTrust: Sendable {
    /// The address of the connection. Clients can forge all fields.
    case none
    /// The last address of `X-Forwarded-For`, which the only proxy has added. Nothing else can connect to the server.
    case last
    /// The last address that is not one of these proxies, from `X-Forwarded-For`, or from `Forwarded` (RFC 7239) if a
    /// request has no `X-Forwarded-For`. The fields of a connection that does not come from one of the proxies do not
    /// count.
    case proxies([AddressRange])

    /// Returns the address of the client.
    ///
    /// - Parameter address: the address of the connection.
    func client(_ address: String, headers: HTTPFields) -> String {
        switch self {
        case .none: return address
        case .last:
            guard let last = Self.forwarded(headers, field: "x-forwarded-for").last.flatMap(Self.address) else {
                return address
            }
            return last
        case .proxies(let ranges):
            guard ranges.contains(where: { $0.contains(address) }) else { return address }
            var client = address
            for text in Self.chain(headers).reversed() {
                guard let next = Self.address(text) else { return client }
                client = next
                if !ranges.contains(where: { $0.contains(next) }) { return client }
            }
            return client
        }
    }

    /// Returns the addresses that proxies have added, the nearest last.
    private static func chain(_ headers: HTTPFields) -> [String] {
        let chain = forwarded(headers, field: "x-forwarded-for")
        guard chain.isEmpty else { return chain }
        return forwarded(headers, field: "forwarded").map { element in
            let pairs = element.split(separator: ";").map { $0.split(separator: "=", maxSplits: 1).map(trimmed) }
            return pairs.first { $0.count == 2 && $0[0].lowercased() == "for" }?[1] ?? ""
        }
    }

    private static func forwarded(_ headers: HTTPFields, field: String) -> [String] {
        guard let name = HTTPField.Name(field) else { return [] }
        return headers[values: name].flatMap { $0.split(separator: ",", omittingEmptySubsequences: false) }.map(trimmed)
    }

    private static func trimmed(_ text: some StringProtocol) -> String {
        let blanks: Set<Character> = [" ", "\t", "\""]
        return String(text.drop { blanks.contains($0) }.reversed().drop { blanks.contains($0) }.reversed())
    }

    /// Returns the address in a text that may have a port. Nil for any other text.
    private static func address(_ text: String) -> String? {
        var text = text
        if text.hasPrefix("["), let end = text.firstIndex(of: "]") {
            text = String(text[text.index(after: text.startIndex)..<end])
        } else if text.contains("."), let colon = text.lastIndex(of: ":"), !text[..<colon].contains(":") {
            text = String(text[..<colon])
        }
        return AddressRange.bytes(text) == nil ? nil : text
    }
}
