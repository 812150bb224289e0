// snippet
import Foundation
import GRDB
import LFS
import LFSStorage

struct Recipe: Codable, PersistableRecord {
    var id: String
    var title: String
    var photoId: FileData.ID?
}

func example(folder: URL, picture: URL) async throws {
    var migrator = DatabaseMigrator()
    migrator.registerLFSMigrations()
    migrator.registerMigration("recipes") { db in
        try db.create(table: "recipe") { table in
            table.primaryKey("id", .text)
            table.column("title", .text).notNull()
            table.column("photoId", .text).references("lfs_file")
        }
        try FileData.deletedWithOwner("recipe", column: "photoId", in: db)  // by a trigger, on every deletion
    }
    let database = try DatabasePool(path: folder.appendingPathComponent("recipes.sqlite").path)
    try migrator.migrate(database)
    let storage = try DirectoryStorage(at: folder.appendingPathComponent("remote"))
    let lfs = try await LFSManager.open(database, options: LFSOptions(storage: storage))
    try lfs.start()  // once, when the app starts
    // The file is safely on disk when `makeFile` returns. The commit queues the upload.
    let photo = try await lfs.makeFile(from: .file(picture), name: "toast.jpg")
    try await database.write { db in
        try photo.insert(db)
        try Recipe(id: "toast", title: "French toast", photoId: photo.id).insert(db)
    }
    print(try await lfs.data(of: photo.id)?.count ?? 0)  // read from the disk, or downloaded and checked
    try await lfs.waitForUploads()  // optional: an app observes the status of the row instead
    try await lfs.stop()
}
// end
