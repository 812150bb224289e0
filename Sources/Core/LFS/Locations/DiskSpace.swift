import GRDB
import LFSDatabase
import LFSFiles
import LFSSystem

/// The errors of the database and the folders that mean a full disk.
enum DiskSpace {
    /// Returns whether an error says that a disk or a quota is full.
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

    /// Runs a body that frees space. When the body itself fails for lack of space, it gives up the store's spare room
    /// and runs the body again.
    static func withReserve<Value>(of store: LocalStore, _ body: () async throws -> Value) async throws -> Value {
        do {
            return try await body()
        } catch let error where isCause(of: error) {
            guard try await BlockingPool.shared.run({ _ in try store.giveUpSpareRoom() }) else { throw error }
            return try await body()
        }
    }
}
