import Foundation
import GRDB
import LFSStorage

/// What is on the storage, byte by byte.
extension Verifier {
    private static let parallelReads = 4

    /// Reads every object and notes what is damaged, for the scan of the rows to tell.
    ///
    /// - Throws: the storage's error for an object that it does not give now: it says nothing of the object, and a
    ///   verification that has passed over it would look like one that has read it.
    mutating func readObjects() async throws {
        progress.stage = .objects
        var last = "".databaseValue
        while true {
            let after = last
            let rows = try await runner.read { db in
                // What is being uploaded again is not what the row describes yet.
                let isQueued = "EXISTS (SELECT 1 FROM lfs_job WHERE fileID = lfs_file.id AND state = 'queued')"
                return try FileData.all().offloaded().filter(FileData.Columns.id > after)
                    .filter(sql: "NOT \(isQueued)").order(FileData.Columns.id).limit(100)
                    .asRequest(of: RowResult<FileData>.self).fetchAll(db)
            }
            guard let next = rows.last?.place else { break }
            last = next
            // The scan of the rows tells those that cannot be read.
            let files = rows.compactMap(\.readable)
            progress.report.objectBytesRead += try await read(files.filter { ObjectKey.usable($0.key) != nil })
            onProgress(progress)
        }
        progress.stage = .files
    }

    /// Returns how many bytes came.
    private func read(_ files: [FileData]) async throws -> Int64 {
        let readBack = readBack
        return try await withThrowingTaskGroup(of: Int64.self) { group in
            var (rest, sum) = (files[...], Int64(0))
            for file in rest.prefix(Self.parallelReads) { group.addTask { try await readBack.required(file) } }
            rest = rest.dropFirst(Self.parallelReads)
            while let byteCount = try await group.next() {
                sum += byteCount
                if let file = rest.popFirst() { group.addTask { try await readBack.required(file) } }
            }
            return sum
        }
    }
}

extension ReadBack {
    fileprivate func required(_ file: FileData) async throws -> Int64 {
        let (outcome, byteCount) = try await run(file)
        if case .unread(let error) = outcome, !error.isMissing { throw error }
        return byteCount
    }
}
