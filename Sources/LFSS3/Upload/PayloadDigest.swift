import Crypto
import Foundation
import LFSStorage
import LFSSystem

/// What is known of a range of the local bytes before it goes out.
struct PayloadDigest: Hashable, Sendable {
    /// In hex.
    let sha256: String
    /// In hex; nil when nobody asked for it.
    let md5: String?
}

/// Digests of a file's ranges, from its start to its end, and of the whole on the way.
///
/// The whole is compared with what the row recorded, so bytes that have rotted on the disk are not uploaded. Owner: one
/// upload, which asks for one range after the other.
final class SourceDigester: @unchecked Sendable {
    // Unchecked: the upload waits for each call before the next one.
    private let source: UploadSource
    private let withMD5: Bool
    private var whole = SHA256()
    private var position: Int64 = 0

    init(_ source: UploadSource, withMD5: Bool) {
        self.source = source
        self.withMD5 = withMD5
    }

    /// The digests of the next bytes. It reads them on a thread that may block.
    ///
    /// - Throws: ``StorageError/Code/sourceChanged`` when the file ends too early.
    func next(_ byteCount: Int64) async throws -> PayloadDigest {
        try await BlockingPool.shared.run { [self] flag in
            var part = SHA256()
            var md5 = withMD5 ? Insecure.MD5() : nil
            let end = position + byteCount
            let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 16)
            defer { buffer.deallocate() }
            while position < end {
                try flag.check()
                let wanted = min(Int64(buffer.count), end - position)
                let count = try source.read(
                    into: UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(Int(wanted))), at: position)
                guard count > 0 else {
                    throw StorageError(.sourceChanged, "The local file ends at byte \(position), too early.")
                }
                let bytes = UnsafeRawBufferPointer(rebasing: buffer.prefix(count))
                whole.update(bufferPointer: bytes)
                part.update(bufferPointer: bytes)
                md5?.update(bufferPointer: bytes)
                position += Int64(count)
            }
            return PayloadDigest(sha256: Hex.text(part.finalize()), md5: md5.map { Hex.text($0.finalize()) })
        }
    }

    /// - Throws: ``StorageError/Code/sourceChanged`` when the bytes are not the recorded ones. Call it at the end.
    func requireWhole() throws(StorageError) {
        guard position == source.byteCount, Hex.text(whole.finalize()) == source.sha256 else {
            throw StorageError(
                .sourceChanged,
                "The local bytes are not the recorded ones: their SHA-256 differs. They were not uploaded.")
        }
    }
}
