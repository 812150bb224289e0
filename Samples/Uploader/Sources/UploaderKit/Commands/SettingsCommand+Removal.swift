import ArgumentParser
import GRDB
import LFS
import LFSBackup
import LFSSettings
import LFSStorage
import LFSSync
import Logging

extension SettingsCommand {
    struct ClearCache: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "clear-cache", abstract: "Remove all local copies that can be downloaded again.",
            discussion: """
                Unfinished downloads are removed too. Pinned files keep their copies. 'free'
                removes some of the copies, and follows the settings of the clean-up.
                """)
        @OptionGroup var database: DatabaseOptions
        @OptionGroup var answer: RemovalAnswer

        func run() async throws {
            try await LocalRun.run(database, frees: true) { lfs, _, _ in
                try answer.require("All local copies that are on the storage are removed. Continue?")
                let report = try await lfs.evictAll()
                try FreeReporter(json: false, isQuiet: false, isPreview: false).end(report, hasAim: false)
            }
        }
    }

    struct LogOut: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "log-out", abstract: "Remove the account and all files of a database from this device.",
            discussion: """
                The originals and the objects stay where they are, and so do the rows on a
                sync server. The database also forgets its storage. Settings of backups and of
                the clean-up stay, except those that name folders. 'lfs-server session revoke'
                ends the session of this device.
                """)
        @OptionGroup var database: DatabaseOptions
        @OptionGroup var answer: RemovalAnswer
        @OptionGroup var loss: RemovalLoss

        func run() async throws {
            try await database.removeData("The account and all files", answer: answer, loss: loss) { settings, db in
                try AccountSettings.remove(settings, in: db)
                try settings.remove(.backupGroups, in: db)
                try settings.remove(.cleanupFolders, in: db)
            }
            Console.result("Logged out.")
        }
    }

    struct FullReset: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "full-reset", abstract: "Remove all files and all settings of a database from this device.",
            discussion: """
                The originals and the objects stay where they are, and so do the rows on a
                sync server. The database is empty afterwards, like a new one.
                """)
        @OptionGroup var database: DatabaseOptions
        @OptionGroup var answer: RemovalAnswer
        @OptionGroup var loss: RemovalLoss

        func run() async throws {
            try await database.removeData("All files and all settings", answer: answer, loss: loss) { settings, db in
                try settings.removeAll(in: db)
            }
            Console.result("All files and settings of \(database.database) were removed from this device.")
        }
    }
}

/// The answer to the question of a command that removes data.
struct RemovalAnswer: ParsableArguments {
    @Flag(name: .long, help: "Do not ask.")
    var yes = false

    /// - Throws: ``UploaderError`` if the answer is no, or without a terminal to ask on.
    func require(_ question: String) throws {
        if yes { return }
        switch Question.isConfirmed(question) {
        case true?: return
        case false?: throw UploaderError("Nothing was removed.")
        case nil: throw UploaderError("The command asks first, and there is no terminal. Give --yes as well.")
        }
    }
}

/// The permission to lose files that are not on the storage.
struct RemovalLoss: ParsableArguments {
    @Flag(name: .long, help: "Also remove files that are not on the storage.")
    var loseFiles = false
}

extension DatabaseOptions {
    /// Removes all files of an uploader's database from this device, and the settings that a closure removes.
    ///
    /// - Parameter removed: the removed data, as a part of the question.
    fileprivate func removeData(
        _ removed: String, answer: RemovalAnswer, loss: RemovalLoss,
        settings removeSettings: @escaping @Sendable (StorageRouter, Database) throws -> Void
    ) async throws {
        try await reportingErrors {
            let file = try DatabaseFile(at: database)
            try file.requireThere()
            try file.requireOurs()
            let database = try DocumentDatabase.open(file)
            let settings = try await UploaderSettings.open(database)
            // The manager is not started, so it never accesses the storage.
            var options = LFSOptions(storage: InMemoryStorage())
            options.logger.logLevel = .critical
            let lfs = try await LFSManager.open(database, options: options)
            let result: Result<Void, any Error>
            do {
                let lost = try await lfs.filesLostByReset()
                let words = "\(Format.count(lost, noun: "file")) not on the storage"
                guard lost == 0 || loss.loseFiles else {
                    throw UploaderError("\(words) would be lost. Run 'resume' first, or add --lose-files.")
                }
                let loss = lost == 0 ? "" : ", also \(words)"
                let warning = try await database.read { db in try Self.warning(db) }
                try answer.require(
                    "\(removed) of \(file.path) are removed from this device\(loss).\(warning) Continue?")
                try await lfs.reset(.loseFilesThatAreNotUploaded(lost)) { db in
                    try DocumentSchema.eraseAll(db)
                    try removeSettings(settings, db)
                }
                // Values that were changed earlier have left bytes in pages that are still used.
                try await database.vacuum()
                result = .success(())
            } catch {
                result = .failure(error)
            }
            try await lfs.stop()
            try await settings.stop()
            try DocumentDatabase.close(database)
            try result.get()
        }
    }

    /// Returns a warning if only this database knows the names of its files, otherwise an empty text.
    private static func warning(_ db: Database) throws -> String {
        // With a sync server, the server has the names as well.
        guard try DocumentTable.count(db) > 0, try SyncReport.fetch(db) == nil, try !DatabaseSaver.isSaved(db) else {
            return ""
        }
        let hasCopy = try DatabaseSaver.Memory.fetch(db).savedAt != nil
        let copy = hasCopy ? "the last copy of it lacks later changes" : "no copy of it is on its storage"
        return " Only this database knows which object is which file, and \(copy)."
    }
}
