import LFSDatabase
import LFSSystem

/// A check of the rows of files whose bytes have arrived, for many files with one read.
struct PostDownloadCheck: Sendable {
    enum Row: Sendable {
        /// The row was deleted during the download.
        case gone
        /// The row does not say that the object on the storage has the correct bytes.
        case inDoubt
        case certain
    }

    private let rows: Batcher<FileID, Result<Row, any Error>>

    init(_ runner: BackgroundRunner) {
        rows = Batcher(upTo: 64) { ids in
            do {
                let found = try await runner.readThroughCancellation { db in
                    try ids.map { id -> Row in
                        guard try FileTable.contains(id, db) else { return .gone }
                        return try JobTable.isInDoubt(id, db) ? .inDoubt : .certain
                    }
                }
                return found.map { .success($0) }
            } catch {
                return ids.map { _ in .failure(error) }
            }
        }
    }

    /// Returns the state of the row at some time after the call. It works in a cancelled task too.
    func row(of id: FileID) async throws -> Row { try await rows.run(id).get() }
}
