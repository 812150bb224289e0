package import LFSSystem

/// A check that compares a source, while it is read from start to end, with the checksum recorded when it was ingested.
/// It prevents the upload of bytes that were corrupted on the disk.
///
/// If a CRC-64 was recorded, the check uses it, because it costs a tenth of a SHA-256 and detects accidental damage as
/// well. Deliberate changes are detected by readers of the object, who verify the SHA-256 of the row.
package struct SourceCheck: Sendable {
    private enum Checksum: Sendable {
        case crc64(CyclicRedundancyCheck)
        case sha256(ContentHash)
    }

    private let source: UploadSource
    private var sum: Checksum
    /// The number of bytes so far.
    package private(set) var byteCount: Int64 = 0

    package init(_ source: UploadSource) {
        self.source = source
        sum = source.crc64 == nil ? .sha256(ContentHash()) : .crc64(CyclicRedundancyCheck(.crc64NVME))
    }

    /// The CRC-64/NVME of the bytes so far, in hex. Nil if none was recorded for comparison.
    package var crc64: String? {
        if case .crc64(let check) = sum { check.hex } else { nil }
    }

    /// Adds the next bytes.
    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        switch sum {
        case .crc64(var check):
            check.update(bytes)
            sum = .crc64(check)
        case .sha256(var hash):
            hash.update(bytes)
            sum = .sha256(hash)
        }
        byteCount += Int64(bytes.count)
    }

    /// Compares the bytes with the recorded ones. Call it at the end. If the CRC-64 differs, it reads all bytes once
    /// more and blocks the thread, because the CRC-64 in the row may be wrong.
    ///
    /// - Throws: ``StorageError/Code/sourceChanged`` if the bytes are not the recorded ones.
    package func requireRecorded(_ flag: CancellationFlag = CancellationFlag()) throws {
        if byteCount == source.byteCount, try isSame(flag) { return }
        throw StorageError(
            .sourceChanged,
            message: "The local bytes are not the recorded ones: their SHA-256 differs. They were not uploaded.")
    }

    private func isSame(_ flag: CancellationFlag) throws -> Bool {
        switch sum {
        case .sha256(let hash): return hash.hex == source.sha256
        case .crc64(let check):
            if check.hex == source.crc64 { return true }
            var hash = ContentHash()
            try source.forEachChunk(flag) { hash.update($0) }
            return hash.hex == source.sha256
        }
    }
}
