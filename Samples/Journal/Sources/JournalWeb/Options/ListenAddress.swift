/// The address that the server listens on, as it is written on the command line: `127.0.0.1:8080`, `[::1]:8080`,
/// `localhost:8080`.
public struct ListenAddress: Hashable, Sendable, CustomStringConvertible {
    /// A host name or an address, without brackets.
    public let host: String
    /// The port, from 0 to 65535. For 0 the system chooses one.
    public let port: Int

    /// Creates an address from its parts.
    public init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    /// Reads an address.
    ///
    /// - Returns: The address, or nil if the text is not a host and a port.
    public init?(_ text: String) {
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
    public var isLoopback: Bool {
        ["localhost", "::1"].contains(host.lowercased()) || host.hasPrefix("127.") && Self.isIPv4(host)
    }

    /// The address as part of a URL.
    public var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }

    /// Returns true if a text is an IPv4 address. An attacker cannot make an address resolve to another one, unlike a
    /// name.
    static func isIPv4(_ text: String) -> Bool {
        let numbers = text.split(separator: ".", omittingEmptySubsequences: false)
        return numbers.count == 4 && numbers.allSatisfy { UInt8($0) != nil && $0.allSatisfy(\.isNumber) }
    }
}
