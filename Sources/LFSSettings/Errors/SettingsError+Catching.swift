import GRDB
import LFSDatabase
import LFSFiles
import LFSStorage
import LFSSystem

extension SettingsError {
    /// Runs the body, and throws what it throws as this type.
    ///
    /// - Parameter key: the name of the key that it is about, as errors may name it.
    @discardableResult
    static func catching<Value>(_ key: String?, _ body: () async throws -> Value) async throws -> Value {
        do { return try await body() } catch { throw wrapping(error, key) }
    }

    /// As the one above, for a body that does not wait.
    @discardableResult
    static func catchingNow<Value>(_ key: String?, _ body: () throws -> Value) throws -> Value {
        do { return try body() } catch { throw wrapping(error, key) }
    }

    /// An error of a part below in the words of this module. What a closure of the app has thrown
    /// passes unchanged, and a `CancellationError` too.
    static func wrapping(_ error: any Error, _ key: String?) -> any Error {
        let wrapped: SettingsError
        switch error {
        case let error as SettingsError: wrapped = error
        case let error as TableError: wrapped = ofTable(error)
        case let error as DatabaseError: wrapped = ofDatabase(error)
        case let error as FileError: wrapped = ofFile(error)
        case let error as StorageError: wrapped = ofStorage(error)
        case let error as SystemError: wrapped = ofFile(FileError.wrapping(error))
        default: return error
        }
        return key.map(wrapped.about) ?? wrapped
    }

    private static func ofTable(_ error: TableError) -> SettingsError {
        switch error.code {
        case .noSpace:
            SettingsError(.noSpace, noSpace)
        case .invalidRow: SettingsError(.corrupted, error.message)
        case .readOnly:
            SettingsError(
                .readOnly,
                "The connection to the database is read-only. Open the router on one without Configuration.readonly.")
        default: SettingsError(.database, error.message)
        }
    }

    private static func ofDatabase(_ error: DatabaseError) -> SettingsError {
        // Neither it nor its description: it has the arguments of the statement, the value among them.
        if error.isNoSpace { return SettingsError(.noSpace, noSpace) }
        return SettingsError(
            .database,
            "The database failed: \(error.message ?? "SQLite code \(error.extendedResultCode.rawValue)").")
    }

    private static func ofStorage(_ error: StorageError) -> SettingsError {
        SettingsError(error.code == .cancelled ? .cancelled : .transportFailed, error.message, cause: error)
    }

    private static let noSpace = "The disk that holds the database is full. Make room; nothing was changed."

    private static func ofFile(_ error: FileError) -> SettingsError {
        let code: Code =
            switch error.code {
            case .noSpace: .noSpace
            case .permissionDenied, .notAFile, .wrongStore: .permissionDenied
            case .readOnly: .readOnly
            case .cancelled: .cancelled
            default: .system
            }
        return SettingsError(code, error.message, cause: error)
    }
}
