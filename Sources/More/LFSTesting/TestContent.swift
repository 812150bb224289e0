import Foundation
package import LFSStorage
import LFSSystem

/// A generator of test content. Equal seeds give equal bytes, other seeds give other bytes. The bytes are never
/// compressible or periodic.
enum TestContent {
    static let chunk = 256 * 1_024

    static func make(_ byteCount: Int, seed: UInt64 = 1) -> [UInt8] {
        var generator = SplitMix(state: seed)
        let words = (0..<(byteCount + 7) / 8).map { _ in generator.next() }
        return words.withUnsafeBytes { Array($0.prefix(byteCount)) }
    }

    static func sha256(_ bytes: [UInt8]) -> String {
        var hash = ContentHash()
        bytes.withUnsafeBytes { hash.update($0) }
        return hash.hex
    }
}

/// A generator of random numbers from a seed.
///
/// Source: SplitMix64 of Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014.
struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = state
        word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return word ^ (word >> 31)
    }
}

extension UploadSource {
    /// Returns a source of these bytes. The bytes are in a temporary file, which is unlinked when this returns.
    ///
    /// - Parameter sha256: the checksum that the source claims. Nil for the correct one.
    package static func temporary(_ bytes: [UInt8], sha256: String? = nil) throws -> UploadSource {
        try temporary(bytes, sha256: sha256) { _ in }
    }

    /// Returns a source like ``temporary(_:sha256:)``, and lets `change` modify the file after it was opened.
    static func temporary(
        _ bytes: [UInt8], sha256: String? = nil, change: (FileHandle) throws -> Void
    ) throws -> UploadSource {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("lfs-testing-\(UUID().uuidString)")
        try Data(bytes).write(to: url, options: .withoutOverwriting)
        let source = Result {
            let source = try UploadSource(
                file: url, byteCount: Int64(bytes.count), sha256: sha256 ?? TestContent.sha256(bytes))
            let handle = try FileHandle(forUpdating: url)
            try change(handle)
            try handle.close()
            return source
        }
        try FileManager.default.removeItem(at: url)
        return try source.get()
    }

    /// Returns the whole content.
    func contents() throws -> [UInt8] {
        var content = [UInt8](repeating: 0, count: Int(byteCount))
        var count = 0
        while count < content.count {
            let read = try content.withUnsafeMutableBytes { buffer in
                try self.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[count...]), at: Int64(count))
            }
            if read == 0 { break }
            count += read
        }
        return Array(content.prefix(count))
    }
}
