public import Foundation

/// A journal in a plain folder, which its owner can read, copy and back up without this library:
///
/// ```
/// tags.json
/// records/2026/03/{record-id}.json          the month of the start, in UTC
/// records/2026/03/{record-id}_{index}.jpg   its pictures
/// .temporary/                               files being written, and leftovers of killed processes
/// ```
///
/// Its only state is a cache of the contents: the first load fills it, queries read it, and every change empties it. If
/// files are changed by hand while the service is in use, ``invalidateCache()`` must be called. Only one process at a
/// time should write to a folder: several processes do not damage it, but they do not see each other's changes until
/// they empty their caches.
///
/// Every write creates a temporary file, syncs it, renames it and syncs the folder. The service runs on a queue of its
/// own, since it waits for the disk.
public actor LocalFileStorageService: StreamingFileStorageService {
    /// The folder of the journal. The first call that writes creates it.
    public nonisolated let folder: URL
    private nonisolated let queue = FileQueue()
    private var cachedContents: FolderContents?
    private var cachedTags: [Tag]?
    private var hasTidied = false

    /// `Documents/Journal` in the home folder.
    public static var defaultFolder: URL {
        FileManager.default.homeDirectoryForCurrentUser.appendingPathComponent("Documents/Journal", isDirectory: true)
    }

    /// Creates a journal in a folder, which may not exist yet. Nothing is read or written before the first call.
    public init(folder: URL = LocalFileStorageService.defaultFolder) { self.folder = folder }

    /// The executor of the service's calls.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { queue.asUnownedSerialExecutor() }

    /// Empties the cache, so that the next query reads the folder again.
    public func invalidateCache() {
        cachedContents = nil
        cachedTags = nil
    }

    // MARK: Tags

    private static let tags = "tags.json"

    public func loadTags() throws -> [Tag] {
        if let cachedTags { return cachedTags }
        let tags = try base().flatMap { base in
            try value([Tag].self, of: Self.tags, in: base, shownAs: Self.tags) { try $0.requireStorable() }
        }
        cachedTags = tags ?? []
        return tags ?? []
    }

    public func saveTags(_ tags: [Tag]) throws {
        try tags.requireStorable()
        let data = try JournalJSON.encoded(tags, name: Self.tags)
        try change(Self.tags) { try write(data, as: Self.tags, in: try madeBase(), for: "tags") }
    }

    // MARK: Records

    public func loadRecords(from: Date, to: Date) throws -> [TimeRecord] {
        try contents().records.filter { $0.overlaps(from: from, to: to) }
    }

    public func loadRunningRecords() throws -> [TimeRecord] { try contents().records.filter(\.isRunning) }

    public func loadAllRecords() throws -> [TimeRecord] { try contents().records }

    public func loadRecord(_ id: UUID) throws -> TimeRecord {
        if let record = cachedContents?.records.first(where: { $0.id == id }) { return record }
        try tidyOnce()
        return try reading(Self.fileName(id)) {
            try record(id, at: try requiredPlace(of: id, near: .distantPast))
        }
    }

    public func damagedRecords() throws -> [DamagedRecord] {
        invalidateCache()
        let contents = try contents()
        return try contents.damaged + reading(JournalMonth.root) { try pictureFindings(contents.records) }
    }

    public func saveRecord(_ record: TimeRecord) throws { try store(record, mustExist: false) }

    public func updateRecord(_ record: TimeRecord) throws { try store(record, mustExist: true) }

    /// Deletes a record and its pictures, even if the record is damaged.
    public func deleteRecord(_ record: TimeRecord) throws {
        let file = Self.fileName(record.id)
        try change(file) {
            let place = try requiredPlace(of: record.id, near: record.start)
            try noting(record.id) {
                try place.folder.remove(file)
                try place.folder.sync()
                try tidy(record.id)
            }
        }
    }

    // MARK: The cache

    private func contents() throws -> FolderContents {
        if let cachedContents { return cachedContents }
        try tidyOnce()
        let contents = try reading(JournalMonth.root) { try readAll() }
        cachedContents = contents
        return contents
    }

    /// Performs a change and empties the cache, also if the change fails halfway.
    ///
    /// - Parameter name: The name of the changed file in errors.
    func change(_ name: String, _ body: () throws -> Void) throws {
        try tidyOnce()
        defer { invalidateCache() }
        do {
            try body()
        } catch let error as SystemFailure {
            throw FileStorageError.fileWriteFailed(name: name, reason: .init(error))
        }
    }

    func reading<Result>(_ name: String, _ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let error as SystemFailure {
            throw FileStorageError.fileReadFailed(name: name, reason: .init(error))
        }
    }

    func tidyOnce() throws {
        if hasTidied { return }
        try removeLeftovers()
        hasTidied = true
    }
}
