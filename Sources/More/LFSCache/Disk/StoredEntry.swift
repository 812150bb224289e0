import Foundation
import LFSSystem

/// An entry as it is written, with sorted tags. The checksum covers key, tags and content, so that content or tags of
/// another entry are detected.
struct StoredEntry: Sendable {
    let key: CacheKey
    let tags: [CacheTag]
    let content: Data
    let checksum: Int64

    init(_ key: CacheKey, tags: Set<CacheTag>, content: Data) {
        self.key = key
        self.tags = tags.sorted { Array($0.text.utf8).lexicographicallyPrecedes(Array($1.text.utf8)) }
        self.content = content
        checksum = Self.checksum(key, tags: self.tags.map { Data($0.text.utf8) }, content: content)
    }

    /// - Parameter tags: sorted by their bytes.
    static func checksum(_ key: CacheKey, tags: [Data], content: Data) -> Int64 {
        var check = CyclicRedundancyCheck(.crc64NVME)
        for part in [Data(key.kind.name.utf8), Data(key.name.utf8)] + tags {
            // The length precedes each part, so that no part can be mistaken for the end of another.
            withUnsafeBytes(of: UInt64(part.count).littleEndian) { check.update($0) }
            part.withUnsafeBytes { check.update($0) }
        }
        content.withUnsafeBytes { check.update($0) }
        return Int64(bitPattern: check.value)
    }
}
