import Foundation

/// Ids of documents: UUID version 7 in lowercase text (RFC 9562, section 5.7), so that rows of several devices can meet
/// in one table, in the order in which they were made.
enum DocumentID {
    static func make(at time: Date = Date()) -> String {
        let milliseconds = UInt64(max(time.timeIntervalSince1970 * 1_000, 0)) & 0xFFFF_FFFF_FFFF
        var generator = SystemRandomNumberGenerator()
        let (high, low) = (UInt64.random(in: 0...0xFFF, using: &generator), UInt64.random(in: 0...(.max)))
        let first = milliseconds << 16 | 0x7000 | high
        let second = low & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000
        let bytes = (first.bigEndian, second.bigEndian)
        return UUID(uuid: unsafeBitCast(bytes, to: uuid_t.self)).uuidString.lowercased()
    }
}
