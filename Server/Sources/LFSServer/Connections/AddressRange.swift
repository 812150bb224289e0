#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A range of IP addresses, such as `10.0.0.0/8`, `2001:db8::/32` or `192.0.2.1`.
public struct AddressRange: Sendable, Hashable {
    private let first: [UInt8]
    private let bitCount: Int

    /// Parses a range in CIDR notation, or one address. Nil for anything else.
    public init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard parts.count <= 2, let bytes = Self.bytes(parts[0]) else { return nil }
        let isShort = !parts[0].contains(":")
        var count = 128
        if parts.count == 2 {
            guard let length = UInt8(parts[1]), length <= (isShort ? 32 : 128) else { return nil }
            count = Int(length) + (isShort ? 96 : 0)
        }
        first = bytes
        bitCount = count
    }

    /// Returns true if an address is in the range. False for a text that is not an address.
    public func contains(_ address: String) -> Bool {
        guard let bytes = Self.bytes(address) else { return false }
        let whole = bitCount / 8
        guard bytes.prefix(whole) == first.prefix(whole) else { return false }
        guard bitCount % 8 != 0 else { return true }
        let shift = 8 - bitCount % 8
        return bytes[whole] >> shift == first[whole] >> shift
    }

    /// Returns the part of an address that identifies a customer. It is the whole of an IPv4 address, and the first
    /// half of an IPv6 address, because providers assign a /64 or more to a customer.
    static func customer(_ text: String) -> [UInt8]? {
        guard let bytes = bytes(text) else { return nil }
        let isMapped = bytes.starts(with: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff])
        return Array(isMapped ? bytes.dropFirst(12) : bytes.prefix(8))
    }

    /// Returns an address as 16 bytes. IPv4 addresses are mapped (RFC 4291, section 2.5.5.2).
    static func bytes(_ text: String) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: 16)
        if inet_pton(AF_INET, text, &bytes) == 1 {
            return [UInt8](repeating: 0, count: 10) + [0xff, 0xff] + bytes.prefix(4)
        }
        return inet_pton(AF_INET6, text, &bytes) == 1 ? bytes : nil
    }
}
