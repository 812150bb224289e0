// snippet
import Foundation
import GRDB
import LFS
import LFSStorage

struct Recipe: Codable, FetchableRecord, PersistableRecord {
    var title: String
    var photoId: FileData.ID?
    static let photo = belongsTo(FileData.self, key: "photo")
}

func example(folder: URL, picture: URL) async throws {
    var migrator = DatabaseMigrator()
    migrator.registerLFSMigrations()
    migrator.registerMigration("recipes") { db in
        try db.create(table: "recipe") { table in
            table.autoIncrementedPrimaryKey("id")
            table.column("title", .text).notNull()
            table.column("photoId", .text).references("lfs_file")
        }
    }
    let database = try DatabasePool(path: folder.appendingPathComponent("recipes.sqlite").path)
    try migrator.migrate(database)

    let storage = try DirectoryStorage(at: folder.appendingPathComponent("remote"))
    let lfs = try await LFSManager.open(database, options: LFSOptions(storage: storage))
    try lfs.start()

    let photo = try await lfs.makeFile(from: .file(picture), name: "toast.jpg")  // the bytes are durable here
    try await database.write { db in
        try photo.insert(db)  // the commit queues the upload; after `start()` the bytes move into the store
        try Recipe(title: "French toast", photoId: photo.id).insert(db)
    }

    try await lfs.waitForUploads()  // an app need not wait; the row says `remote` when it is through
    try await lfs.stop()
}
// end
