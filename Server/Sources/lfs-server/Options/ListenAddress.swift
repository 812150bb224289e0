/// The address of the server as a command-line argument: `127.0.0.1:8080`, `[::1]:8080` or `localhost:8080`.
struct ListenAddress: Hashable, Sendable, CustomStringConvertible {
    /// A host name or an address without brackets.
    let host: String
    /// A port from 0 to 65535. For 0, the system chooses one.
    let port: Int

    /// Creates an address from its parts.
    init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    /// Parses an address.
    ///
    /// - Returns: nil for anything but a host and a port.
    init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
            return nil
        }
        var host = text[..<colon]
        let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
        if isBracketed { host = host.dropFirst().dropLast() }
        guard !host.isEmpty, isBracketed == host.contains(":"), !host.contains(where: { " []/@".contains($0) }) else {
            return nil
        }
        self.init(host: String(host), port: Int(port))
    }

    /// Indicates that only this machine can reach the address.
    var isLoopback: Bool {
        ["localhost", "::1"].contains(host.lowercased()) || host.hasPrefix("127.") && Self.isIPv4(host)
    }

    /// The address in the form of a URL.
    var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }

    /// Returns true if a text is an IPv4 address. A host name such as `127.evil.example` could resolve to another
    /// machine.
    static func isIPv4(_ text: String) -> Bool {
        let numbers = text.split(separator: ".", omittingEmptySubsequences: false)
        return numbers.count == 4 && numbers.allSatisfy { UInt8($0) != nil && $0.allSatisfy(\.isNumber) }
    }
}
