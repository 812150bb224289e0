import Foundation

/// A generator of document ids: UUIDs of version 7 in lowercase (RFC 9562, section 5.7). Rows of several devices can
/// share a table with them, in the order of their creation.
enum DocumentID {
    static func make(at time: Date = Date()) -> String {
        let elapsed = UInt64(saturating: (time.timeIntervalSince1970 * 1_000).rounded(.down))
        let milliseconds = min(elapsed, 0xFFFF_FFFF_FFFF)
        var generator = SystemRandomNumberGenerator()
        let (high, low) = (UInt64.random(in: 0...0xFFF, using: &generator), UInt64.random(in: 0...(.max)))
        let first = milliseconds << 16 | 0x7000 | high
        let second = low & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000
        let bytes = (first.bigEndian, second.bigEndian)
        return UUID(uuid: unsafeBitCast(bytes, to: uuid_t.self)).uuidString.lowercased()
    }

    /// Returns the creation time of an id, or nil if the id does not contain it.
    static func time(of id: String) -> Date? {
        guard let uuid = UUID(uuidString: id)?.uuid, uuid.6 >> 4 == 7 else { return nil }
        let milliseconds = [uuid.0, uuid.1, uuid.2, uuid.3, uuid.4, uuid.5].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return Date(timeIntervalSince1970: Double(milliseconds) / 1_000)
    }
}
