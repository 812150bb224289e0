import LFSDatabase

/// What the database remembers of a folder that has values: that it was there.
struct FolderNotes: Sendable {
    let runner: BackgroundRunner
    /// The folder's path, or what stands for a path that moves with the database.
    let folder: String
    /// The absolute path, as earlier versions have noted it.
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
