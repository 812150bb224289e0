import LFSDatabase
import LFSStorage
import LFSSystem

/// What is on the storage, byte by byte.
extension Verifier {
    private static let parallelReads = 4

    /// Reads every object and notes what is damaged, for the scan of the rows to tell.
    ///
    /// - Throws: the storage's error for an object that it does not give now: it says nothing of the object, and a
    ///   verification that has passed over it would look like one that has read it.
    mutating func readObjects() async throws {
        progress.stage = .objects
        try await runner.forEachPage { db, last in
            try FileTable.settledRemote(after: last, limit: 100, db)
        } _: { rows in
            // The scan of the rows tells those that cannot be read.
            let files = rows.compactMap(\.readable)
            progress.report.objectBytesRead += try await read(files.filter { ObjectKey.usable($0.key) != nil })
            onProgress(progress)
            return true
        }
        progress.stage = .files
    }

    /// Returns how many bytes came.
    private func read(_ files: [FileRow]) async throws -> Int64 {
        let readBack = readBack
        return try await runEach(files, atMost: Self.parallelReads) { try await readBack.required($0) }.reduce(0, +)
    }
}

extension ReadBack {
    fileprivate func required(_ file: FileRow) async throws -> Int64 {
        let (outcome, byteCount) = try await run(file)
        if case .unread(let error) = outcome, !error.isMissing { throw error }
        return byteCount
    }
}
