import ArgumentParser
import JournalStorage
import JournalWeb
import LFSSettings
import Logging

/// In which folders pictures may be looked for, as it is written on the command line.
struct BackupArguments: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "A folder in which whoever looks at the journal may name folders of pictures to back up. Without it the "
                + "page has no folders.", valueName: "folder"))
    var backupRoot: [String] = []

    func validate() throws {
        guard backupRoot.allSatisfy({ $0.hasPrefix("/") && !$0.split(separator: "/").contains("..") }) else {
            throw ValidationError("--backup-root takes the path of a folder from the first / on, without '..'.")
        }
    }

    /// nil without `--backup-root`.
    func open(
        _ journal: DatabaseStorageService, _ settings: StorageRouter, excluding own: [String], isOnFolder: Bool,
        _ logger: Logger
    ) -> FolderBackup? {
        if backupRoot.isEmpty { return nil }
        return FolderBackup(
            journal, settings: settings, roots: BackupRoots(backupRoot, excluding: own), isOnFolder: isOnFolder,
            logger: logger)
    }
}
