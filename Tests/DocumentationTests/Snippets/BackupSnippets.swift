import GRDB
import LFS
import LFSBackup
import LFSSettings

#if canImport(Photos)
import LFSPhotos
import Photos
#endif

// snippet
func backUp(_ folders: [BackupGroup], lfs: LFSManager, database: DatabasePool) async throws -> BackupReport {
    let host = BackupHost { attachment, db in
        try db.execute(
            sql: """
                INSERT INTO picture (path, fileId) VALUES (?1, ?2)
                ON CONFLICT (path) DO UPDATE SET fileId = excluded.fileId
                """,
            arguments: [attachment.asset.id.description, attachment.file.id])
    }
    return try await Backup(lfs, database: database, source: FolderSource(folders), host: host).run { event in
        if case .failed(let name, let reason) = event { print("\(name): \(reason)") }
    }
}
// end

// snippet
func startGated(_ lfs: LFSManager, settings: StorageRouter) async throws {
    let gate = UploadGate(lfs, conditions: { try await BackupSettings.conditions(settings) })
    try await gate.look()  // before the start, so that no upload starts too early
    try lfs.start()
    try await gate.run()  // until it is cancelled
}
// end

// snippet
func follow(_ source: FolderSource, host: BackupHost, lfs: LFSManager, database: DatabasePool) async throws {
    let follower = FolderFollower(source) { note in print(note) }
    while true {
        let batch = try await follower.next()
        try await Backup(lfs, database: database, source: batch.source, host: host).run()
    }
}
// end

#if canImport(Photos)
// snippet
func backUpPhotos(_ host: BackupHost, lfs: LFSManager, database: DatabasePool) async throws -> BackupReport? {
    // The user sees the reason of NSPhotoLibraryUsageDescription in the Info.plist.
    let access = await PHPhotoLibrary.requestAuthorization(for: .readWrite)
    guard access == .authorized || access == .limited else { return nil }
    return try await Backup(lfs, database: database, source: PhotoSource(), host: host).run()
}
// end
#endif
