import Foundation
import GRDB
import LFS
import LFSStorage
import LFSTesting
import Testing

enum HowTo {
    static func prepareForFiles(_ migrator: inout DatabaseMigrator) {
        // snippet
        migrator.registerMigration("photos of recipes are files") { db in
            try db.execute(sql: "ALTER TABLE recipe ADD COLUMN photoId TEXT REFERENCES lfs_file")
            try FileData.deletedWithOwner("recipe", column: "photoId", in: db)
        }
        // end
    }

    static func emptyTrash(_ database: DatabasePool) async throws {
        // snippet
        try await database.write { db in
            try db.execute(
                sql: "DELETE FROM recipe WHERE deletedAt < ?", arguments: [Date(timeIntervalSinceNow: -30 * 86_400)])
        }
        // end
    }

    static func keepOffline(_ lfs: LFSManager) async throws {
        // snippet
        let favourites = FileData.filter(sql: "id IN (SELECT photoId FROM recipe WHERE isFavourite)")
        try await lfs.pin(favourites)
        let summary = try await lfs.prefetch(favourites)
        print("\(summary.fetched) downloaded, \(summary.failures.count) failed")
        // end
    }

    static func logOut(_ lfs: LFSManager, confirm: (Int) async -> Bool) async throws {
        // snippet
        let lost = try await lfs.filesLostByReset()
        if lost > 0 {
            guard await confirm(lost) else { return }  // "3 photos are not uploaded and will be lost."
        }
        try await lfs.reset(.loseFilesThatAreNotUploaded(lost)) { db in
            try db.execute(sql: "DELETE FROM recipe")
        }
        // end
    }

    static func showProgress(_ database: DatabasePool) async throws {
        // snippet
        let counts = ValueObservation.tracking { db in try LFSStatus(db) }
        for try await status in counts.values(in: database) {
            print("\(status.remote) of \(status.files) uploaded, \(status.pendingBytes) bytes left")
        }
        // end
    }

    static func openDurably(_ path: String) async throws -> DatabasePool {
        // snippet
        let pool = try DatabasePool(path: path)
        try await pool.writeWithoutTransaction { db in try db.execute(sql: "PRAGMA synchronous = FULL") }
        // end
        return pool
    }

    static func deleteUnused(_ database: DatabasePool) async throws -> Int {
        // snippet
        let unused = FileData.filter(sql: "id NOT IN (SELECT photoId FROM recipe WHERE photoId IS NOT NULL)")
            .filter(FileData.Columns.createdAt < Date(timeIntervalSinceNow: -86_400))
        let files = try await database.read { db in try unused.fetchAll(db) }
        print(files.map { $0.name ?? $0.id.uuidString })
        let count = try await database.write { db in try unused.deleteAll(db) }
        // end
        return count
    }

    static func keepOldPhotos(_ migrator: inout DatabaseMigrator) {
        // snippet
        migrator.registerMigration("old photos are kept") { db in
            try db.create(table: "oldPhoto") { table in
                table.column("recipeId", .text).notNull().references("recipe", onDelete: .cascade)
                table.column("photoId", .text).notNull().references("lfs_file")
                table.column("replacedAt", .datetime).notNull()
            }
            try FileData.deletedWithOwner("oldPhoto", column: "photoId", in: db)
        }
        // end
    }

    static func replaceAndKeep(
        _ recipeID: String, by picture: URL, in database: DatabasePool, lfs: LFSManager
    ) async throws {
        // snippet
        try await lfs.withFile(from: .file(picture)) { photo in
            try await database.write { db in
                try photo.insert(db)
                try db.execute(
                    sql: "INSERT INTO oldPhoto SELECT id, photoId, ? FROM recipe WHERE id = ? AND photoId IS NOT NULL",
                    arguments: [Date(), recipeID])
                try db.execute(sql: "UPDATE recipe SET photoId = ? WHERE id = ?", arguments: [photo.id, recipeID])
                try db.execute(
                    sql: "DELETE FROM oldPhoto WHERE replacedAt < ?",
                    arguments: [Date(timeIntervalSinceNow: -90 * 86_400)])
            }
        }
        // end
    }

    static func moveTo(_ newStorage: any RemoteStorage, database: DatabasePool) async throws {
        // snippet
        let lfs = try await LFSManager.open(database, options: LFSOptions(storage: newStorage))
        try lfs.start()
        var options = VerifyOptions()
        options.repairs = true
        let report = try await lfs.verify(options) { finding in print(finding) }
        print("\(report.left) problems left")
        // end
        try await lfs.stop()
    }
}

// snippet
struct OldPhoto: Decodable, FetchableRecord {
    var id: String
    var photo: Data
}

/// Moves up to 50 photos from the column into files.
///
/// - Returns: false when no photo is left in the column.
func movePhotos(_ database: DatabasePool, lfs: LFSManager) async throws -> Bool {
    let photos = try await database.read { db in
        try OldPhoto.fetchAll(db, sql: "SELECT id, photo FROM recipe WHERE photo IS NOT NULL LIMIT 50")
    }
    for old in photos {
        try await lfs.withFile(from: .bytes(old.photo).named("photo.jpg")) { file in
            try await database.write { db in
                try file.insert(db)
                try db.execute(
                    sql: "UPDATE recipe SET photoId = ?, photo = NULL WHERE id = ?", arguments: [file.id, old.id])
            }
        }
    }
    return !photos.isEmpty
}
// end

// snippet
func replacePhoto(of recipeID: String, by picture: URL, in database: DatabasePool, lfs: LFSManager) async throws {
    try await lfs.withFile(from: .file(picture)) { photo in
        try await database.write { db in
            let old = try FileID.fetchOne(db, sql: "SELECT photoId FROM recipe WHERE id = ?", arguments: [recipeID])
            try photo.insert(db)
            try db.execute(sql: "UPDATE recipe SET photoId = ? WHERE id = ?", arguments: [photo.id, recipeID])
            if let old { try lfs.pin(photo.id, like: old, in: db) }
        }
    }
}
// end

// snippet
enum UploadBadge: Equatable {
    case uploaded
    case pending(reason: String?)
    case failed(reason: String?)
    case onAnotherDevice
}

func badge(for file: FileData, upload: Upload?, status: LFSStatus) -> UploadBadge {
    switch upload?.state {
    case .failed, .cancelled: .failed(reason: upload?.reason)
    case .queued: .pending(reason: status.outage?.reason ?? status.hold?.reason ?? upload?.reason)
    case nil: file.status == .remote ? .uploaded : .onAnotherDevice
    }
}
// end

// snippet
struct PhotoInfo: Decodable, FetchableRecord {
    var file: FileData
    var upload: Upload?  // nil once the file is on the storage
}

func observeBadges(_ database: any DatabaseReader, _ show: @Sendable (FileID, UploadBadge) -> Void) async throws {
    let observation = ValueObservation.tracking { db in
        (
            try LFSStatus(db),
            try FileData.including(optional: FileData.upload).asRequest(of: PhotoInfo.self).fetchAll(db)
        )
    }
    for try await (status, photos) in observation.values(in: database) {
        for photo in photos { show(photo.file.id, badge(for: photo.file, upload: photo.upload, status: status)) }
    }
}
// end

// snippet
func optionsWithPlaceholder(_ storage: any RemoteStorage, greyPicture: Data) -> LFSOptions {
    var options = LFSOptions(storage: storage)
    options.placeholder = { file in file.contentType?.hasPrefix("image/") == true ? greyPicture : nil }
    return options
}

func show(_ file: FileData, lfs: LFSManager, in view: @Sendable (Data) -> Void) async throws {
    guard let shown = try await lfs.displayData(of: file) else { return }
    view(shown.data)
    // The download of a file that its device has not uploaded yet returns nil.
    if shown.isPlaceholder, let data = try await lfs.data(of: file) { view(data) }
}
// end

// snippet
func alertText(for error: any Error) -> String {
    guard let error = error as? LFSError else { return error.localizedDescription }
    if error.isMissing { return "This file no longer exists." }
    return [error.message, error.recoverySuggestion].compactMap { $0 }.joined(separator: " ")
}
// end

// snippet
func networkChanged(isMetered: Bool, lfs: LFSManager) async throws {
    if isMetered {
        try await lfs.holdUploads(because: "waits for Wi-Fi")
    } else {
        try await lfs.releaseUploads()
    }
}
// end

// snippet
/// Copies a file to a folder under its own name, for another app.
func export(_ file: FileData, to folder: URL, lfs: LFSManager) async throws -> URL? {
    guard let source = try await lfs.localURL(of: file) else { return nil }  // not uploaded by its device yet
    // The name may come from another device.
    let name = (file.name ?? "File").replacingOccurrences(of: "/", with: "-")
    let copy = folder.appendingPathComponent(name)
    try FileManager.default.copyItem(at: source, to: copy)
    return copy
}
// end

// snippet
/// Returns the part of a video that a player asks for.
func part(of video: FileID, from start: Int64, byteCount: Int64, lfs: LFSManager) async throws -> Data? {
    try await lfs.bytes(of: video, range: start..<start + byteCount)
}
// end

// snippet
func setPhoto(of recipeID: String, to picture: URL, in database: DatabasePool, lfs: LFSManager) async throws {
    try await lfs.withFile(from: .file(picture)) { made in
        let photo = try await database.write { db in
            let photo = try lfs.insertOrReuse(made, in: db)
            try db.execute(sql: "UPDATE recipe SET photoId = ? WHERE id = ?", arguments: [photo.id, recipeID])
            return photo
        }
        if photo.id != made.id { try await lfs.discard(made) }
    }
}
// end

// snippet
@Suite("Uploads without a network", .timeLimit(.minutes(5)))
struct NetworkTests {
    @Test("A file is uploaded when the storage becomes reachable")
    func reachable() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: folder) } }
        let database = try DatabaseQueue(path: folder.appendingPathComponent("test.sqlite").path)
        var migrator = DatabaseMigrator()
        migrator.registerLFSMigrations()
        try migrator.migrate(database)
        let storage = UnreachableStorage(InMemoryStorage())
        let lfs = try await LFSManager.open(database, options: LFSOptions(storage: storage))
        try lfs.start()

        try await lfs.withFile(from: .bytes(Data("toast".utf8))) { file in
            try await database.write { db in try file.insert(db) }
        }
        #expect(try await database.read { db in try FileData.all().pending().fetchCount(db) } == 1)
        storage.setReachable(true)
        lfs.resume()  // the next attempt begins at once
        try await lfs.waitForUploads()
        #expect(try await database.read { db in try FileData.all().offloaded().fetchCount(db) } == 1)
        try await lfs.stop()
    }
}
// end
