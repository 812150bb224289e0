/// Where the server listens, as it is written on the command line: `127.0.0.1:8080`, `[::1]:8080`, `localhost:8080`.
struct ListenAddress: Hashable, Sendable, CustomStringConvertible {
    /// A host name or an address, without brackets.
    let host: String
    /// From 0 to 65535; the system chooses one for 0.
    let port: Int

    /// An address by its parts.
    init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    /// Reads an address.
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

    /// Whether only this machine can reach it.
    var isLoopback: Bool {
        ["localhost", "::1"].contains(host.lowercased()) || host.hasPrefix("127.") && Self.isIPv4(host)
    }

    /// As it stands in a URL.
    var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }

    /// Whether a text is an address of four numbers, and so is no name that somebody could let point elsewhere.
    static func isIPv4(_ text: String) -> Bool {
        let numbers = text.split(separator: ".", omittingEmptySubsequences: false)
        return numbers.count == 4 && numbers.allSatisfy { UInt8($0) != nil && $0.allSatisfy(\.isNumber) }
    }
}
