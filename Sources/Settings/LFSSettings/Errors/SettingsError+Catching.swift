import GRDB
import LFSDatabase
import LFSFiles
import LFSStorage
import LFSSystem

extension SettingsError {
    /// Runs the body, and rethrows its errors as `SettingsError`.
    ///
    /// - Parameter key: the name of the key for the errors.
    @discardableResult
    static func catching<Value>(_ key: String?, _ body: () async throws -> Value) async throws -> Value {
        do { return try await body() } catch { throw wrapping(error, key: key) }
    }

    /// Does the same as ``catching(_:_:)`` for a synchronous body.
    @discardableResult
    static func catchingNow<Value>(_ key: String?, _ body: () throws -> Value) throws -> Value {
        do { return try body() } catch { throw wrapping(error, key: key) }
    }

    /// Converts an error of another module into a `SettingsError`. Errors thrown by closures of the app are returned
    /// unchanged, and so is `CancellationError`.
    static func wrapping(_ error: any Error, key: String?) -> any Error {
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
            SettingsError(.noSpace, message: noSpace)
        case .invalidRow: SettingsError(.corrupted, message: error.message)
        case .readOnly:
            SettingsError(
                .readOnly,
                message: """
                    The connection to the database is read-only. Open the router on one without \
                    Configuration.readonly.
                    """)
        default: SettingsError(.database, message: error.message)
        }
    }

    private static func ofDatabase(_ error: DatabaseError) -> SettingsError {
        // Neither the error nor its description is passed on: they contain the statement's arguments, which include the
        // value.
        if error.isNoSpace { return SettingsError(.noSpace, message: noSpace) }
        return SettingsError(
            .database,
            message: "The database failed: \(error.message ?? "SQLite code \(error.extendedResultCode.rawValue)").")
    }

    private static func ofStorage(_ error: StorageError) -> SettingsError {
        SettingsError(error.code == .cancelled ? .cancelled : .transportFailed, message: error.message, cause: error)
    }

    private static let noSpace = "The disk that holds the database is full. Nothing was changed. Make room on it."

    private static func ofFile(_ error: FileError) -> SettingsError {
        let code: Code =
            switch error.code {
            case .noSpace: .noSpace
            case .permissionDenied, .notAFile, .wrongStore: .permissionDenied
            case .readOnly: .readOnly
            case .cancelled: .cancelled
            default: .system
            }
        return SettingsError(code, message: error.message, cause: error)
    }
}
