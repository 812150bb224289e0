import Foundation
import GRDB
import LFS
import LFSSettings
import LFSSync

/// A note with a photo. The row is synced between the devices of an account. The bytes are transferred through the storage.
struct PhotoNote: Codable, FetchableRecord, PersistableRecord {
    static let databaseTableName = "photoNote"
    static let file = belongsTo(FileData.self, key: "file")

    var id = UUID().uuidString
    var text: String
    /// Seconds since 1970.
    var createdAt = Int(Date().timeIntervalSince1970)
    var fileID: FileData.ID

    /// Creates the tables of the app and of LFS.
    static func migrate(_ database: DatabasePool) throws {
        var migrator = DatabaseMigrator()
        migrator.registerLFSMigrations()
        migrator.registerLFSSyncMigrations()
        migrator.registerLFSSettingsMigrations()
        migrator.registerMigration("notes") { db in
            try db.create(table: databaseTableName) { table in
                table.primaryKey("id", .text)
                table.column("text", .text).notNull()
                table.column("createdAt", .integer).notNull()
                table.column("fileID", .text).notNull().references("lfs_file", onDelete: .cascade)
            }
            // A note that is deleted takes its file with it, on this device and on the storage.
            try FileData.deletedWithOwner(databaseTableName, column: "fileID", in: db)
            try SyncedTable.install(databaseTableName, in: db)
        }
        try migrator.migrate(database)
    }
}

/// A note with the row of its file, and with the state of the upload while there is one.
struct PhotoEntry: Decodable, FetchableRecord, Identifiable {
    var note: PhotoNote
    var file: FileData
    var upload: Upload?

    var id: String { note.id }

    static var all: QueryInterfaceRequest<PhotoEntry> {
        PhotoNote.including(required: PhotoNote.file.including(optional: FileData.upload))
            .order(Column("createdAt").desc, Column("id")).asRequest(of: PhotoEntry.self)
    }

    /// The state of the file in words.
    func state(_ status: LFSStatus?) -> String {
        switch upload?.state {
        case .failed, .cancelled: "Not uploaded: \(upload?.reason ?? "unknown reason")"
        case .queued: status?.outage?.reason ?? upload?.reason ?? "Waiting for its upload"
        default: file.status == .remote ? "On the storage" : "Not uploaded yet by its device"
        }
    }
}
