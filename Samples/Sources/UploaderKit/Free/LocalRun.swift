import ArgumentParser
import GRDB
import LFS
import LFSStorage
import Logging

/// A command that works on this device only.
enum LocalRun {
    /// Opens everything for the body, and closes it. An error becomes a line on the standard error and exit status 1.
    static func run(_ options: DatabaseOptions, _ body: (LFSManager) async throws -> Void) async throws {
        do {
            let database = try DocumentDatabase.openAny(DatabaseFile(at: options.database))
            // The manager is not started, so no storage is ever asked.
            var managerOptions = LFSOptions(storage: InMemoryStorage())
            managerOptions.logger.logLevel = .critical
            let lfs = try await LFSManager.open(database, options: managerOptions)
            do {
                try await body(lfs)
            } catch {
                try await lfs.stop()
                throw error
            }
            try await lfs.stop()
            try DocumentDatabase.close(database)
        } catch let status as ExitCode {
            throw status
        } catch {
            Console.message("uploader: \(Words.of(error))")
            throw ExitCode(1)
        }
    }
}
