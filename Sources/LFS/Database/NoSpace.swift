import GRDB
import LFSFiles
import LFSSystem

/// What a full disk looks like, from the database and from the folders.
enum NoSpace {
    /// Whether an error says that a disk or a quota is full.
    static func isCause(of error: any Error) -> Bool {
        switch error {
        case let error as DatabaseError: error.isNoSpace
        case let error as FileError: error.code == .noSpace
        case let error as SystemError: error.isNoSpace
        case let error as LFSError: error.code == .noSpace
        default: false
        }
    }

    /// The database's refusal in this module's words; any other error unchanged.
    static func wording(_ error: any Error) -> any Error {
        guard let error = error as? DatabaseError, error.isNoSpace else { return error }
        return LFSError(
            .noSpace,
            "The disk that holds the database is full. Free local copies (LFSManager.clearCache, free), or make room otherwise.",
            cause: error)
    }

    /// Does what frees space. When that itself is refused for want of space, the store's spare room is given up for it.
    static func withSpareRoom<Value>(of store: LocalStore, _ body: () async throws -> Value) async throws -> Value {
        do {
            return try await body()
        } catch where isCause(of: error) {
            guard try await BlockingPool.shared.run({ _ in try store.giveUpSpareRoom() }) else { throw error }
            return try await body()
        }
    }
}

extension DatabaseError {
    /// The second code: the index of the log in memory could not be made longer, for which the disk has no page.
    fileprivate var isNoSpace: Bool {
        resultCode == .SQLITE_FULL || extendedResultCode == .SQLITE_IOERR_SHMSIZE
    }
}
