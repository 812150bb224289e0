import LFSDatabase
import LFSFiles
import LFSStorage
import LFSSystem

/// The originals of files that were attached without a copy.
struct Originals: Sendable {
    let runner: BackgroundRunner

    /// The result of a search for an original.
    enum Finding: Sendable {
        /// The file was attached with a copy, or on another device.
        case none
        /// The open original has the recorded bytes.
        case unchanged(Descriptor)
        /// The original cannot be reached now, with a sentence about it.
        case away(path: String, reason: String)
        /// The original has other bytes or is gone, with a sentence about it.
        case changed(String)
    }

    /// Searches for the original of a file. If its stamp differs, all its bytes are read and compared.
    ///
    /// - Parameter readsAll: reads and compares the bytes in any case.
    /// - Throws: `SystemError` if the original cannot be read.
    func find(
        _ file: FileID, byteCount: Int64, sha256: String, readsAll: Bool = false
    ) async throws -> Finding {
        guard let original = try await original(of: file) else { return .none }
        return try await BlockingPool.shared.run { flag in
            let finding = try original.find { descriptor, isUnchanged in
                let isKnown = isUnchanged && !readsAll
                return try isKnown || descriptor.hasContent(byteCount: byteCount, sha256: sha256, flag)
            }
            switch finding {
            case .accepted(let descriptor): return .unchanged(descriptor)
            case .rejected:
                return .changed("The original \(original.shownPath) was changed after it was attached.")
            case .absent: return Self.absence(of: original)
            }
        }
    }

    /// Opens the original of a file if it has the recorded bytes. Returns nil otherwise.
    func open(_ file: FileRow) async throws -> Descriptor? {
        let finding = try await find(file.id, byteCount: file.byteCount, sha256: file.sha256)
        if case .unchanged(let descriptor) = finding { return descriptor }
        return nil
    }

    private func original(of file: FileID) async throws -> OriginalFile? {
        try await runner.read { db in try OriginalTable.row(of: file, db) }.map(OriginalFile.init)
    }

    private static func absence(of original: OriginalFile) -> Finding {
        if original.isOnAbsentDisk() {
            return .away(
                path: original.shownPath,
                reason: "The disk with the original \(original.shownPath) is not mounted.")
        }
        return .changed("The original \(original.shownPath) was moved or deleted after it was attached.")
    }
}

extension Descriptor {
    /// Reads all bytes and returns true if they are the recorded ones. Blocks the thread.
    fileprivate func hasContent(byteCount: Int64, sha256: String, _ flag: CancellationFlag) throws -> Bool {
        guard try status().byteCount == byteCount else { return false }
        return try ContentHash(of: self, byteCount: byteCount, flag).hex == sha256
    }
}

extension OriginalFile {
    init(_ row: OriginalRow) {
        self.init(
            path: row.path.bytes, movedPath: row.movedPath?.bytes, device: UInt64(bitPattern: row.device),
            stamp: row.stamp)
    }
}

extension OriginalRow {
    init(_ id: FileID, original: OriginalFile) {
        self.init(
            fileID: id, path: SourceID(bytes: original.path), device: Int64(bitPattern: original.device),
            stamp: original.stamp)
    }
}
