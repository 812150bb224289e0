import Foundation
import GRDB
import LFS
import LFSStorage
import LFSTesting
import Testing

enum Guide {
    // snippet
    struct Recipe: Codable, FetchableRecord, PersistableRecord {
        var title: String
        var photoId: FileData.ID?

        static let photo = belongsTo(FileData.self, key: "photo")
    }

    struct RecipeInfo: Decodable, FetchableRecord {
        var recipe: Recipe
        var photo: FileData?
    }
    // end

    static func migrate(_ database: DatabasePool) throws {
        // snippet
        var migrator = DatabaseMigrator()
        migrator.registerLFSMigrations()
        migrator.registerMigration("recipes") { db in
            try db.create(table: "recipe") { table in
                table.autoIncrementedPrimaryKey("id")
                table.column("title", .text).notNull()
                table.column("photoId", .text).references("lfs_file")
            }
        }
        try migrator.migrate(database)
        // end
    }

    static func open(_ path: String) throws -> DatabasePool {
        // snippet
        var configuration = Configuration()
        configuration.busyMode = .timeout(10)
        let database = try DatabasePool(path: path, configuration: configuration)
        // end
        return database
    }

    static func own(_ migrator: inout DatabaseMigrator) {
        // snippet
        migrator.registerMigration("photos go with their recipes") { db in
            try FileData.deletedWithOwner("recipe", column: "photoId", in: db)
        }
        // end
    }

    static func ownMore(_ migrator: inout DatabaseMigrator) {
        // snippet
        migrator.registerMigration("recipes have a recording") { db in
            try db.execute(sql: "ALTER TABLE recipe ADD COLUMN recordingId TEXT REFERENCES lfs_file")
            try FileData.deletedWithOwner("recipe", column: "recordingId", in: db)
        }
        // end
    }

    static func disown(_ migrator: inout DatabaseMigrator) {
        // snippet
        migrator.registerMigration("recipes have no photos") { db in
            try db.execute(sql: "UPDATE recipe SET photoId = NULL")  // releases the files
            try FileData.keptWithoutOwner("recipe", column: "photoId", in: db)
            try db.execute(sql: "ALTER TABLE recipe DROP COLUMN photoId")
        }
        // end
    }

    static func open(_ database: DatabasePool, remoteFolder: URL) async throws -> LFSManager {
        // snippet
        let storage = try DirectoryStorage(at: remoteFolder)
        let lfs = try await LFSManager.open(database, options: LFSOptions(storage: storage))
        try lfs.start()
        // end
        return lfs
    }

    static func moveAside(_ options: inout LFSOptions) {
        // snippet
        options.foreignStore = .moveAside
        // end
    }

    static func attach(_ picture: URL, database: DatabasePool, lfs: LFSManager) async throws -> FileData {
        // snippet
        let photo = try await lfs.makeFile(from: .file(picture), name: "toast.jpg")
        try await database.write { db in
            try photo.insert(db)
            try Recipe(title: "French toast", photoId: photo.id).insert(db)
        }
        // end
        return photo
    }

    static func attachAll(_ pictures: [URL], database: DatabasePool, lfs: LFSManager) async throws {
        // snippet
        try await lfs.withFiles(from: pictures.map(FileSource.file)) { photos in
            try await database.write { db in
                for photo in photos { try photo.insert(db) }
            }
        }
        // end
    }

    static func importAll(_ pictures: [URL], database: DatabasePool, lfs: LFSManager) async throws {
        // snippet
        let results = try await lfs.makeFiles(from: pictures.map(FileSource.file))
        try await database.write { db in
            for result in results {
                switch result {
                case .success(let photo): try photo.insert(db)
                case .failure(let error): print(error.message)  // this picture was not added
                }
            }
        }
        // end
    }

    static func observeUploads(_ database: DatabasePool) async throws {
        // snippet
        struct PhotoInfo: Decodable, FetchableRecord {
            var file: FileData
            var upload: Upload?  // nil once the file is on the storage
        }

        let photos = ValueObservation.tracking { db in
            try FileData.including(optional: FileData.upload).asRequest(of: PhotoInfo.self).fetchAll(db)
        }
        let failed = try await database.read { db in try Upload.all().failed().fetchAll(db) }
        // end
        _ = (photos, failed)
    }

    static func observe() -> ValueObservation<ValueReducers.Fetch<[RecipeInfo]>> {
        // snippet
        let recipes = ValueObservation.tracking { db in
            try Recipe.including(optional: Recipe.photo).asRequest(of: RecipeInfo.self).fetchAll(db)
        }
        // end
        return recipes
    }

    static func showProgress(_ photo: FileData, lfs: LFSManager) async throws {
        // snippet
        for try await progress in try await lfs.uploadProgress(of: photo.id) {
            print(progress.fractionCompleted)
        }
        // end
    }

    static func read(_ photo: FileData, lfs: LFSManager) async throws {
        // snippet
        guard let contents = try await lfs.contents(of: photo) else {
            return  // made on another device, which has not uploaded it yet
        }
        for try await chunk in contents {
            print(chunk.count)
        }
        // end
    }

    static func readWhole(_ recipe: Recipe, lfs: LFSManager) async throws {
        // snippet
        if let photoId = recipe.photoId {
            let image = try await lfs.data(of: photoId)
            print(image?.count ?? 0)
        }
        // end
    }

    static func readOnly(_ path: String, photoId: FileID) async throws -> Data? {
        // snippet
        var configuration = Configuration()
        configuration.readonly = true
        let reader = try await LFSReader(try DatabaseQueue(path: path, configuration: configuration))
        let picture = try await reader.data(of: photoId)
        // end
        return picture
    }

    static func readPart(_ photo: FileData, lfs: LFSManager) async throws -> Data? {
        // snippet
        let header = try await lfs.bytes(of: photo, range: 0..<1_024)
        // end
        return header
    }

    static func prefetch(_ lfs: LFSManager) async throws {
        // snippet
        let recent = FileData.order(FileData.Columns.createdAt.desc).limit(100)
        let summary = try await lfs.prefetch(recent)
        print(summary.fetched, summary.failures)
        // end
    }

    static func free(_ lfs: LFSManager) async throws {
        // snippet
        var policy = EvictionPolicy(maxByteCount: 2 << 30)
        policy.keepsUsedWithin = .seconds(7 * 86_400)
        policy.keep { FileData.filter(sql: "id IN (SELECT photoId FROM recipe WHERE isFavourite)") }
        // end
        // snippet
        let preview = try await lfs.previewEviction(policy)
        print("\(preview.evicted.byteCount) bytes can go, \(preview.staying.byteCount) stay")
        let report = try await lfs.evict(policy)
        print(report.shortfall)
        // end
    }

    static func pin(_ photo: FileData, lfs: LFSManager) async throws {
        // snippet
        try await lfs.pin([photo.id])
        try await lfs.pin(FileData.filter(FileData.Columns.contentType == "application/pdf"))
        try await lfs.unpin([photo.id])
        try await lfs.evict(photo.id)
        // end
    }

    static func reset(_ lfs: LFSManager) async throws {
        // snippet
        try await lfs.reset(.everythingIsUploaded) { db in
            try db.execute(sql: "DELETE FROM recipe")
        }
        // end
    }

    static func fault() -> any RemoteStorage {
        // snippet
        let storage = FailingStorage(
            InMemoryStorage(), on: [.download], with: StorageError(.timeout, message: "It fails on purpose."))
        // end
        return storage
    }

    static func verify(_ lfs: LFSManager) async throws {
        // snippet
        var options = VerifyOptions()
        options.checksContent = true
        options.repairs = true
        let report = try await lfs.verify(options) { finding in
            print(finding)
        }
        print("\(report.left) left, \(report.known) known")
        // end
    }
}

// snippet
/// A storage that can be read and refuses everything else.
struct ReadOnlyStorage<Base: RemoteStorage>: RemoteStorage {
    let base: Base

    var capabilities: StorageCapabilities { base.capabilities }

    func upload(_ source: UploadSource, to key: ObjectKey, session: UploadSession) async throws -> RemoteObject {
        throw StorageError(.forbidden, message: "This storage is read-only.", key: key)
    }

    func download(_ request: DownloadRequest, into sink: DownloadSink) async throws -> RemoteObject {
        try await base.download(request, into: sink)
    }

    func head(_ key: ObjectKey) async throws -> RemoteObject { try await base.head(key) }

    func delete(_ key: ObjectKey, abandoning checkpoint: UploadCheckpoint?) async throws {
        throw StorageError(.forbidden, message: "This storage is read-only.", key: key)
    }

    func list(_ request: ListRequest) async throws -> ListPage { try await base.list(request) }
}
// end

// snippet
/// Writes the contents of an open file to the sink.
func send(_ file: FileHandle, of key: ObjectKey, into sink: DownloadSink) throws {
    while true {
        let piece: Data?
        do {
            piece = try file.read(upToCount: 256 * 1_024)
        } catch {
            throw StorageError(.unreachable, message: "The share cannot be read.", key: key, cause: error)
        }
        guard let piece, !piece.isEmpty else { return }
        try piece.withUnsafeBytes { try sink.write($0) }  // outside of the `do`: its errors are not the storage's
    }
}
// end

// snippet
@Suite("The storage meets the requirements")
struct MyStorageTests {
    @Test(arguments: StorageConformance.checks)
    func conforms(_ check: StorageCheck) async throws {
        try await check.run(against: InMemoryStorage())
    }
}
// end
