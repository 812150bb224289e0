import LFSDatabase
import LFSSystem

/// Looks at the rows of files whose bytes have come, at many with one read.
struct ArrivalCheck: Sendable {
    enum Row: Sendable {
        /// It was deleted meanwhile.
        case gone
        /// It says less than that the object on the storage has the right bytes.
        case inDoubt
        case certain
    }

    private let rows: Batching<FileID, Result<Row, any Error>>

    init(_ runner: BackgroundRunner) {
        rows = Batching(upTo: 64) { ids in
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

    /// The row as it is some time after the call. Works in a cancelled task too.
    func row(of id: FileID) async throws -> Row { try await rows.run(id).get() }
}
