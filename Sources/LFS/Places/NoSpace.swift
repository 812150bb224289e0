import GRDB
import LFSDatabase
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
        case let error as TableError: error.code == .noSpace
        default: false
        }
    }

    /// Does what makes room. When that itself is refused for want of space, the store's spare room is given up for it.
    static func withSpareRoom<Value>(of store: LocalStore, _ body: () async throws -> Value) async throws -> Value {
        do {
            return try await body()
        } catch let error where isCause(of: error) {
            guard try await BlockingPool.shared.run({ _ in try store.giveUpSpareRoom() }) else { throw error }
            return try await body()
        }
    }
}
