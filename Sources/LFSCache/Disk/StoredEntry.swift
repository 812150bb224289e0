import Foundation
import LFSSystem

/// An entry as it is written: its tags in their order, and a checksum over all of it, so that neither content nor tags
/// of another entry are taken for its own.
struct StoredEntry: Sendable {
    let key: CacheKey
    let tags: [CacheTag]
    let content: Data
    let checksum: Int64

    init(_ key: CacheKey, tags: Set<CacheTag>, content: Data) {
        self.key = key
        self.tags = tags.sorted { Array($0.text.utf8).lexicographicallyPrecedes(Array($1.text.utf8)) }
        self.content = content
        checksum = Self.checksum(key, tags: self.tags.map { Data($0.text.utf8) }, content)
    }

    /// - Parameter tags: in the order of their bytes.
    static func checksum(_ key: CacheKey, tags: [Data], _ content: Data) -> Int64 {
        var check = CyclicRedundancyCheck(.crc64NVME)
        for part in [Data(key.kind.name.utf8), Data(key.name.utf8)] + tags {
            // With its length before it, no part can be taken for the end of another.
            withUnsafeBytes(of: UInt64(part.count).littleEndian) { check.update($0) }
            part.withUnsafeBytes { check.update($0) }
        }
        content.withUnsafeBytes { check.update($0) }
        return Int64(bitPattern: check.value)
    }
}
