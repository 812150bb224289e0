package import LFSSystem

/// Compares the bytes of a source, as they are read from its start to its end, with what was recorded of them when they
/// came in, so that bytes which have rotted on the disk are not uploaded.
///
/// It goes by their CRC-64 where one was recorded, which costs a tenth of their SHA-256. For chance that is as good;
/// whoever changes bytes on purpose is found out by who reads the object, which has the SHA-256 of the row to keep to.
package struct SourceCheck: Sendable {
    private enum Sum: Sendable {
        case crc64(CyclicRedundancyCheck)
        case sha256(ContentHash)
    }

    private let source: UploadSource
    private var sum: Sum
    /// How many bytes came so far.
    package private(set) var byteCount: Int64 = 0

    package init(_ source: UploadSource) {
        self.source = source
        sum = source.crc64 == nil ? .sha256(ContentHash()) : .crc64(CyclicRedundancyCheck(.crc64NVME))
    }

    /// The CRC-64/NVME of the bytes so far, in hex; nil where none was recorded to compare it with.
    package var crc64: String? {
        if case .crc64(let check) = sum { check.hex } else { nil }
    }

    /// Takes the bytes that follow.
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

    /// Call it at the end. Where the CRC-64 differs all bytes are read once more, which blocks the thread: it stands in
    /// a row, and the row may be wrong.
    ///
    /// - Throws: ``StorageError/Code/sourceChanged`` when the bytes are not the recorded ones.
    package func requireRecorded(_ flag: CancellationFlag = CancellationFlag()) throws {
        if byteCount == source.byteCount, try isSame(flag) { return }
        throw StorageError(
            .sourceChanged, "The local bytes are not the recorded ones: their SHA-256 differs. They were not uploaded.")
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
