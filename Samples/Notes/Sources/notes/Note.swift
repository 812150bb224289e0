import Foundation
import GRDB
import LFS

/// A note, which may have a file.
struct Note: Codable, Identifiable, FetchableRecord, MutablePersistableRecord {
    var id: Int64?
    var text: String
    /// The id of the file's row. The bytes are not in this table.
    var attachmentId: FileData.ID?

    static let attachment = belongsTo(FileData.self, key: "attachment")

    mutating func didInsert(_ inserted: InsertionSuccess) {
        id = inserted.rowID
    }
}

/// A note as the list shows it, joined with the row of its file.
struct NoteInfo: Decodable, FetchableRecord {
    var note: Note
    var attachment: FileData?
}

extension DatabaseMigrator {
    /// Registers the tables of LFS, then those of the app, which refer to them.
    mutating func registerNotes() {
        registerLFSMigrations()
        registerMigration("notes") { db in
            try db.create(table: "note") { table in
                table.autoIncrementedPrimaryKey("id")
                table.column("text", .text).notNull()
                table.column("attachmentId", .text).references("lfs_file")
            }
            // A note that is deleted takes its file with it, on this device and on the storage.
            try FileData.deletedWithOwner("note", column: "attachmentId", in: db)
        }
    }
}
