import LFSDatabase

/// The database's record that a folder with values was used before.
struct FolderNotes: Sendable {
    let runner: BackgroundRunner
    /// The recorded form of the folder: its path, or a text for a path that moves with the database.
    let folder: String
    /// The absolute path, which earlier versions recorded.
    let path: String

    func isNoted() async throws -> Bool {
        try await runner.read { [folder, path] db in
            try FolderTable.contains(folder, db) || FolderTable.contains(path, db)
        }
    }

    func note() async throws { try await runner.writeDurably { [folder] db in try FolderTable.add(folder, db) } }

    func forget() async throws {
        try await runner.writeDurably { [folder, path] db in
            try FolderTable.remove(folder, db)
            try FolderTable.remove(path, db)
        }
    }
}
