package import Foundation
package import LFSStorage
import LFSSystem
import Synchronization

/// Content for tests.
package enum SampleBytes {
    /// Returns bytes that do not repeat within any chunk. The same seed gives the same bytes.
    package static func make(_ byteCount: Int, seed: UInt64 = 1) -> [UInt8] {
        var generator = SeededGenerator(seed: seed)
        let words = (0..<(byteCount + 7) / 8).map { _ in generator.next() }
        return words.withUnsafeBytes { Array($0.prefix(byteCount)) }
    }

    package static func sha256(_ bytes: some Sequence<UInt8>) -> String {
        var hash = ContentHash()
        Array(bytes).withUnsafeBytes { hash.update($0) }
        return hash.hex
    }

    /// Writes the bytes to a file and opens it as the source of an upload.
    package static func source(
        _ bytes: [UInt8], at url: URL, sha256: String? = nil
    ) throws -> UploadSource {
        try Data(bytes).write(to: url)
        return try UploadSource(file: url, byteCount: Int64(bytes.count), sha256: sha256 ?? Self.sha256(bytes))
    }
}

/// SplitMix64, a small generator. The seed determines its numbers, so that a failure can be repeated.
package struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    package init(seed: UInt64) {
        state = seed
    }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = state
        word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return word ^ (word >> 31)
    }

    /// Returns a random number below the limit, which must be at least 1.
    package mutating func next(below limit: Int) -> Int { Int.random(in: 0..<limit, using: &self) }
}

/// A generator that several tasks share.
///
/// The mutex owns the numbers.
package final class LockedGenerator: Sendable {
    private let generator: Mutex<SeededGenerator>

    package init(seed: UInt64) {
        generator = Mutex(SeededGenerator(seed: seed))
    }

    package func next(below limit: Int) -> Int { generator.withLock { $0.next(below: limit) } }
}
