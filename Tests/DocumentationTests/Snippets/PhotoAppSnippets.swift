import Foundation
import GRDB
import LFS
import LFSStorage

#if canImport(UIKit)
import PhotosUI
import SwiftUI
import UIKit
#endif

enum PhotoApp {
    // snippet
    struct Photo: Codable, FetchableRecord, PersistableRecord {
        var id = UUID().uuidString
        var number: Int
        /// The id of the file's row. The bytes are not in this table.
        var fileId: FileData.ID

        static let file = belongsTo(FileData.self, key: "file")
    }

    /// A photo with the row of its file.
    struct PhotoInfo: Decodable, Identifiable, FetchableRecord {
        var photo: Photo
        var file: FileData

        var id: String { photo.id }
    }
    // end

    // snippet
    struct PhotoLibrary: Sendable {
        let database: DatabasePool
        let lfs: LFSManager

        /// The library of the app. The first use opens it, and all windows share it.
        static let shared = Task {
            try await open(
                in: FileManager.default.url(
                    for: .documentDirectory, in: .userDomainMask, appropriateFor: nil, create: true))
        }

        static func open(in folder: URL) async throws -> PhotoLibrary {
            let database = try DatabasePool(path: folder.appendingPathComponent("photos.sqlite").path)
            var migrator = DatabaseMigrator()
            migrator.registerLFSMigrations()
            migrator.registerMigration("photos") { db in
                try db.create(table: "photo") { table in
                    table.primaryKey("id", .text)
                    table.column("number", .integer).notNull()
                    table.column("fileId", .text).notNull().references("lfs_file")
                }
                // A photo that is deleted takes its file with it.
                try FileData.deletedWithOwner("photo", column: "fileId", in: db)
            }
            try migrator.migrate(database)
            let storage = try DirectoryStorage(at: folder.appendingPathComponent("remote"))
            let lfs = try await LFSManager.open(database, options: LFSOptions(storage: storage))
            try lfs.start()
            return PhotoLibrary(database: database, lfs: lfs)
        }

        func add(_ image: Data) async throws {
            try await lfs.withFile(from: .bytes(image)) { file in
                try await database.write { db in
                    try file.insert(db)
                    let last = try Photo.select(max(Column("number")), as: Int.self).fetchOne(db) ?? 0
                    try Photo(number: last + 1, fileId: file.id).insert(db)
                }
            }
        }

        func delete(_ photo: Photo) async throws {
            _ = try await database.write { db in try photo.delete(db) }
        }

        func photos() -> AsyncValueObservation<[PhotoInfo]> {
            ValueObservation.tracking { db in
                try Photo.including(required: Photo.file).order(Column("number"))
                    .asRequest(of: PhotoInfo.self).fetchAll(db)
            }.values(in: database)
        }
    }
    // end

    // snippet
    struct RootView: View {
        @State private var library: PhotoLibrary?
        @State private var problem: String?

        var body: some View {
            VStack {
                if let library {
                    PhotoList(library: library)
                } else {
                    Text(problem ?? "Opening…")
                }
            }
            .task {
                do {
                    library = try await PhotoLibrary.shared.value
                } catch {
                    problem = error.localizedDescription
                }
            }
        }
    }
    // end

    // snippet
    struct PhotoList: View {
        let library: PhotoLibrary
        @State private var photos: [PhotoInfo] = []
        @State private var picked: PhotosPickerItem?
        @State private var problem: String?

        var body: some View {
            VStack {
                PhotosPicker(
                    "Add a photo", selection: $picked, matching: .images, preferredItemEncoding: .compatible)
                Text(problem ?? "Photos: \(photos.count)")
                List(photos) { info in
                    PhotoRow(info: info, library: library)
                }
            }
            .task {
                do {
                    for try await photos in library.photos() { self.photos = photos }
                } catch {
                    problem = error.localizedDescription
                }
            }
            .task(id: picked) {
                guard let item = picked else { return }
                problem = nil
                do {
                    if let image = try await item.loadTransferable(type: Data.self) { try await library.add(image) }
                } catch {
                    problem = error.localizedDescription
                }
                // The next choice is a change, even if it is the same photo.
                if picked == item { picked = nil }
            }
        }
    }
    // end

    // snippet
    struct PhotoRow: View {
        let info: PhotoInfo
        let library: PhotoLibrary
        @State private var image: UIImage?
        @State private var problem: String?

        var body: some View {
            VStack {
                if let image {
                    Image(uiImage: image).resizable().scaledToFit()
                }
                Text("Photo \(info.photo.number): \(info.file.status == .remote ? "uploaded" : "uploading…")")
                Text(problem ?? "")
                Button("Delete") {
                    Task {
                        problem = nil
                        do { try await library.delete(info.photo) } catch { problem = error.localizedDescription }
                    }
                }
                // In a list, a button of the default style reacts to a tap anywhere in its row.
                .buttonStyle(.borderless)
            }
            .task(id: info.id) {
                problem = nil
                do {
                    let data = try await library.lfs.data(of: info.file)
                    image = data.flatMap { UIImage(data: $0) }
                } catch {
                    problem = error.localizedDescription
                }
            }
        }
    }
    // end
}
