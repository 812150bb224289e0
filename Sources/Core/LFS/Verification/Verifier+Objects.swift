import LFSDatabase
import LFSStorage
import LFSSystem

/// Reading of the objects' bytes on the storage.
extension Verifier {
    /// Reads every object and records damaged ones. The scan of the rows reports them.
    ///
    /// - Throws: the storage's error for an object that it does not return now. The object's state is then unknown, and
    ///   a verification that skipped it would look like a complete one.
    mutating func readObjects() async throws {
        progress.stage = .objects
        try await runner.forEachPage { db, last in
            try FileTable.settledRemote(after: last, limit: 100, db)
        } _: { rows in
            // The scan of the rows reports the rows that cannot be read.
            let files = rows.compactMap(\.readable)
            progress.report.objectBytesRead += try await read(files.filter { ObjectKey.usable($0.key) != nil })
            onProgress(progress)
            return true
        }
        progress.stage = .files
    }

    /// Returns the number of bytes received.
    private func read(_ files: [FileRow]) async throws -> Int64 {
        let readBack = readBack
        let readings = try await runEach(files, atMost: ObjectVerifier.parallel) { file in
            let (reading, error) = try await readBack.read(file)
            if let error { throw error }
            return reading
        }
        return readings.reduce(0) { $0 + $1.byteCount }
    }
}

extension ObjectVerifier {
    /// The maximum number of objects that are read concurrently.
    fileprivate static let parallel = 4

    /// Reads the objects of several files.
    ///
    /// - Throws: the storage's error when it returns none of them now, because it is unreachable or refuses access.
    func read(_ files: [FileRow]) async throws -> [ObjectReading] {
        let results = try await runEach(files, atMost: Self.parallel) { try await read($0) }
        if let error = results.lazy.compactMap(\.error).first, results.allSatisfy({ $0.error != nil }) { throw error }
        return results.map(\.reading)
    }

    /// - Returns: the result, with the error when the storage did not return the object now.
    fileprivate func read(_ file: FileRow) async throws -> (reading: ObjectReading, error: StorageError?) {
        guard ObjectKey.usable(file.key) != nil else {
            return (ObjectReading(fileID: file.id, outcome: .missing, byteCount: 0, reason: nil), nil)
        }
        let (outcome, byteCount) = try await run(file)
        func reading(_ outcome: ObjectReading.Outcome, reason: String? = nil) -> ObjectReading {
            ObjectReading(fileID: file.id, outcome: outcome, byteCount: byteCount, reason: reason)
        }
        switch outcome {
        case .right: return (reading(.right), nil)
        case .damaged: return (reading(.damaged), nil)
        case .unread(let error) where error.isMissing: return (reading(.missing), nil)
        case .unread(let error) where error.code == .cancelled: throw error
        case .unread(let error): return (reading(.unread, reason: error.message), error)
        }
    }
}
