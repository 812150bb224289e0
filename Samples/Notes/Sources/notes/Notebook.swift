import Foundation
import GRDB
import LFS
import LFSStorage

/// The app: a database of notes, and the manager of the files that are attached to them.
struct Notebook {
    let database: DatabasePool
    let lfs: LFSManager

    /// Opens the notes in a folder, or creates them. The database is `notes.sqlite`, and the storage is the folder
    /// `remote`.
    static func open(in folder: URL) async throws -> Notebook {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let database = try DatabasePool(path: folder.appendingPathComponent("notes.sqlite").path)
        var migrator = DatabaseMigrator()
        migrator.registerNotes()
        try migrator.migrate(database)

        // For a server, only this line changes: `try S3Storage(bucket: "notes", region: "eu-west-1")`.
        let storage = try DirectoryStorage(at: folder.appendingPathComponent("remote"))
        var options = LFSOptions(storage: storage)
        options.placeholder = { file in Data("[\(file.byteCount) bytes that are not on this device]\n".utf8) }
        let lfs = try await LFSManager.open(database, options: options)
        return Notebook(database: database, lfs: lfs)
    }

    /// Adds a note and attaches a copy of a file to it.
    func add(text: String, file url: URL?) async throws -> Note {
        guard let url else {
            return try await insert(Note(text: text))
        }
        // The bytes are durable when this returns.
        let file = try await lfs.makeFile(from: .file(url), name: url.lastPathComponent)
        return try await insert(Note(text: text, attachmentId: file.id), file: file)
    }

    private func insert(_ note: Note, file: FileData? = nil) async throws -> Note {
        try await database.write { db in
            // The commit queues the upload.
            try file?.insert(db)
            return try note.inserted(db)
        }
    }

    /// Returns all notes with the rows of their files.
    func list() async throws -> [NoteInfo] {
        try await database.read { db in
            try Note.including(optional: Note.attachment).asRequest(of: NoteInfo.self).fetchAll(db)
        }
    }

    /// Removes the local copy of a note's file. It is refused until the storage has confirmed the upload.
    func free(id: Int64) async throws {
        try await lfs.evict(try await attachment(of: id))
    }

    /// Returns the bytes of a note's file: from the local copy, else from the storage.
    ///
    /// The result is nil if another device made the file and has not uploaded it yet.
    func read(id: Int64) async throws -> Data? {
        try await lfs.data(of: try await attachment(of: id))
    }

    /// Returns the bytes of a note's file if they are on this device, and a text in their place otherwise.
    func show(id: Int64) async throws -> Data? {
        try await lfs.displayData(of: try await attachment(of: id))?.data
    }

    /// Deletes a note, its file, the local copy and the object. The manager has to run.
    ///
    /// - Returns: The number of files whose bytes could not be removed yet. LFS retries them.
    func delete(id: Int64) async throws -> Int {
        let isDeleted = try await database.write { db in try Note.deleteOne(db, key: id) }
        guard isDeleted else { throw NotesError.unknownNote(id) }
        return try await lfs.waitForDeletions()
    }

    private func attachment(of id: Int64) async throws -> FileData.ID {
        let note = try await database.read { db in try Note.fetchOne(db, key: id) }
        guard let note else { throw NotesError.unknownNote(id) }
        guard let file = note.attachmentId else { throw NotesError.noAttachment(id) }
        return file
    }
}

/// An error that a person can correct.
enum NotesError: Error, Equatable, CustomStringConvertible {
    case unknownNote(Int64)
    case noAttachment(Int64)
    case notUploaded
    case usage

    var description: String {
        switch self {
        case .unknownNote(let id): "No note has the id \(id). `notes FOLDER list` shows the ids."
        case .noAttachment(let id): "Note \(id) has no file."
        case .notUploaded: "The device that made the file has not uploaded it yet. Try again later."
        case .usage:
            """
            usage: notes FOLDER add TEXT [FILE]   adds a note and attaches a copy of the file
                   notes FOLDER list              shows the notes, and where the bytes of each file are
                   notes FOLDER upload            uploads all pending files to FOLDER/remote
                   notes FOLDER free ID           removes the local copy of an uploaded file
                   notes FOLDER read ID           prints the file's bytes
                   notes FOLDER show ID           prints them only if they are on this device
                   notes FOLDER delete ID         deletes the note, the local copy and the object
            """
        }
    }
}
