public import Foundation

/// A journal in a plain folder, which its owner can read, copy and back up without this library.
///
/// Its only state is a cache of the contents: the first load fills it, queries read it, and every change empties it. If
/// files are changed by hand while the service is in use, ``invalidateCache()`` must be called. Only one process at a
/// time should write to a folder: several processes do not damage it, but they do not see each other's changes until
/// they empty their caches.
///
/// The service runs on a queue of its own, since it waits for the disk.
public actor LocalFileStorageService: StreamingFileStorageService {
    /// The folder of the journal. The first call that writes creates it.
    public nonisolated let folder: URL
    nonisolated let tree: JournalFolder
    private nonisolated let queue = FileQueue()
    private var cachedContents: FolderContents?
    private var cachedTags: [Tag]?
    private var hasTidied = false

    /// `Documents/Journal` in the home folder.
    public static var defaultFolder: URL {
        FileManager.default.homeDirectoryForCurrentUser.appendingPathComponent("Documents/Journal", isDirectory: true)
    }

    /// Creates a journal in a folder, which may not exist yet. Nothing is read or written before the first call.
    public init(folder: URL = LocalFileStorageService.defaultFolder) {
        self.folder = folder
        tree = JournalFolder(path: folder.path)
    }

    /// The executor of the service's calls.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { queue.asUnownedSerialExecutor() }

    /// Empties the cache, so that the next query reads the folder again.
    public func invalidateCache() {
        cachedContents = nil
        cachedTags = nil
    }

    // MARK: Tags

    public func loadTags() throws -> [Tag] {
        if let cachedTags { return cachedTags }
        let tags = try tree.tags()
        cachedTags = tags
        return tags
    }

    public func saveTags(_ tags: [Tag]) throws { try mutate { try tree.store(tags) } }

    // MARK: Records

    public func loadRecords(from: Date, to: Date) throws -> [TimeRecord] {
        try contents().records.filter { $0.overlaps(from: from, to: to) }
    }

    public func loadRunningRecords() throws -> [TimeRecord] { try contents().records.filter(\.isRunning) }

    public func loadAllRecords() throws -> [TimeRecord] { try contents().records }

    public func loadRecord(_ id: UUID) throws -> TimeRecord {
        if let record = cachedContents?.records.first(where: { $0.id == id }) { return record }
        try tidyOnce()
        return try tree.record(id, at: try tree.requiredPlace(of: id, near: .distantPast))
    }

    public func damagedRecords() throws -> [DamagedRecord] {
        invalidateCache()
        let contents = try contents()
        return try contents.damaged + tree.pictureFindings(contents.records)
    }

    public func saveRecord(_ record: TimeRecord) throws { try mutate { try tree.store(record, mustExist: false) } }

    public func updateRecord(_ record: TimeRecord) throws { try mutate { try tree.store(record, mustExist: true) } }

    public func deleteRecord(_ record: TimeRecord) throws {
        try mutate { try tree.delete(record.id, near: record.start) }
    }

    // MARK: The cache

    private func contents() throws -> FolderContents {
        if let cachedContents { return cachedContents }
        try tidyOnce()
        let contents = try tree.readAll()
        cachedContents = contents
        return contents
    }

    /// Performs a change and empties the cache, also if the change fails halfway.
    func mutate<Result>(_ body: () throws -> Result) throws -> Result {
        try tidyOnce()
        defer { invalidateCache() }
        return try body()
    }

    func tidyOnce() throws {
        if hasTidied { return }
        try tree.removeLeftovers()
        hasTidied = true
    }
}
