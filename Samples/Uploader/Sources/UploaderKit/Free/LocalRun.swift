import ArgumentParser
import GRDB
import LFS
import LFSStorage
import Logging

/// A runner for commands that never access the storage.
enum LocalRun {
    /// Opens all components for the body, and closes them. An error becomes a line on standard error and exit status 1.
    ///
    /// - Parameter frees: true for a body that frees local copies. The call then fails while the content of the storage
    ///   is unknown.
    static func run(
        _ options: DatabaseOptions, frees: Bool = false, json: Bool = false,
        _ body: (LFSManager, any DatabaseWriter, DocumentTable) async throws -> Void
    ) async throws {
        try await run(options, json: json) { lfs, database, table in
            if frees { try await requireCertainty(database) }
            try await body(lfs, database, table)
        }
    }

    private static func requireCertainty(_ database: any DatabaseReader) async throws {
        if let doubt = try await database.read(StorageMemory.doubt) { throw doubt }
    }

    /// Runs a body with the files that some names refer to. Unknown names are reported, and lead to exit status 3 after
    /// the body has run.
    static func run(
        _ options: DatabaseOptions, naming: FileNaming, _ body: (LFSManager, [FileID]) async throws -> Void
    ) async throws {
        try await run(options, named: naming) { lfs, _, files, refusals in
            for refusal in refusals { tell(refusal, json: false) }
            try await body(lfs, try files.map { try FileID.named($0.fileID) })
            if !refusals.isEmpty { throw ExitCode(3) }
        }
    }

    /// Runs a body with the named files and the unknown names.
    static func run(
        _ options: DatabaseOptions, named naming: FileNaming, frees: Bool = false, json: Bool = false,
        _ body: (LFSManager, any DatabaseReader, [NamedFile], [FileNaming.Refusal]) async throws -> Void
    ) async throws {
        try await run(options, json: json) { lfs, database, table in
            if frees { try await requireCertainty(database) }
            let named = try await database.read { db in try naming.resolve(table.all, db) }
            try await body(lfs, database, named.files, named.refusals)
        }
    }

    private static func run(
        _ options: DatabaseOptions, json: Bool,
        _ body: (LFSManager, any DatabaseWriter, DocumentTable) async throws -> Void
    ) async throws {
        try await reportingErrors(json: json) {
            let file = try DatabaseFile(at: options.database)
            let database = try DocumentDatabase.openAny(file)
            // The manager is not started, so it never accesses the storage.
            var managerOptions = LFSOptions(storage: InMemoryStorage())
            managerOptions.logger.logLevel = .critical
            let lfs = try await LFSManager.open(database, options: managerOptions)
            do {
                try await body(lfs, database, DocumentTable(isOurs: file.isOurs))
            } catch {
                try await lfs.stop()
                throw error
            }
            try await lfs.stop()
            try DocumentDatabase.close(database)
        }
    }
}
