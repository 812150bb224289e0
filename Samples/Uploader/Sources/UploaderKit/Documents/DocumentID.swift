import Foundation

/// A generator of document ids: UUIDs of version 7 in lowercase (RFC 9562, section 5.7). Rows of several devices can
/// share a table with them, in the order of their creation. The 12 bits of `rand_a` count the fraction of a millisecond
/// (section 6.2, method 3).
enum DocumentID {
    static func make(at time: Date = Date()) -> String {
        let elapsed = UInt64(saturating: (time.timeIntervalSince1970 * 4_096_000).rounded(.down))
        // The last 12 bits are the fraction, and the others fit into 48 bits.
        let ticks = min(elapsed, 1 << 60 - 1)
        let first = (ticks >> 12) << 16 | 0x7000 | ticks & 0xFFF
        let second = UInt64.random(in: 0...(.max)) & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000
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
