import ArgumentParser
import JournalStorage
import JournalWeb
import LFSSettings
import Logging

/// The command-line options for the folders in which pictures may be backed up.
struct BackupArguments: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "A folder of picture folders that users can select for backup.",
            valueName: "folder"))
    var backupRoot: [String] = []

    func validate() throws {
        guard backupRoot.allSatisfy({ $0.hasPrefix("/") && !$0.split(separator: "/").contains("..") }) else {
            throw ValidationError("--backup-root has to be a path that begins with / and has no '..'.")
        }
    }

    /// Returns the backup, or nil without `--backup-root`.
    func open(
        _ journal: DatabaseStorageService, settings: StorageRouter, excluding own: [String], isOnFolder: Bool,
        logger: Logger
    ) -> FolderBackup? {
        if backupRoot.isEmpty { return nil }
        return FolderBackup(
            journal, settings: settings, roots: BackupRoots(backupRoot, excluding: own), isOnFolder: isOnFolder,
            logger: logger)
    }
}
