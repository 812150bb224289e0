import Foundation
package import LFSStorage
import LFSSystem

/// Bytes to store: the same for the same number, different for another one, and never compressible or periodic.
enum TestContent {
    static let chunk = 256 * 1_024

    /// SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014).
    static func make(_ byteCount: Int, seed: UInt64 = 1) -> [UInt8] {
        var state = seed
        let words = (0..<(byteCount + 7) / 8).map { _ -> UInt64 in
            state &+= 0x9E37_79B9_7F4A_7C15
            var word = state
            word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
            word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
            return word ^ (word >> 31)
        }
        return words.withUnsafeBytes { Array($0.prefix(byteCount)) }
    }

    static func sha256(_ bytes: [UInt8]) -> String {
        var hash = ContentHash()
        bytes.withUnsafeBytes { hash.update($0) }
        return hash.hex
    }
}

extension UploadSource {
    /// A source of these bytes, from a temporary file that has lost its name when this returns.
    ///
    /// - Parameter sha256: what the source claims; by default the truth.
    package static func temporary(_ bytes: [UInt8], sha256: String? = nil) throws -> UploadSource {
        try temporary(bytes, sha256: sha256) { _ in }
    }

    /// As ``temporary(_:sha256:)``, and lets `change` do something to the file after it was opened.
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

    /// The whole content, in memory.
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
