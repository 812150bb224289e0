public import Foundation

/// A journal in a plain folder, which its owner can read, copy and back up without us.
///
/// The state that it has is a cache of what it has read: it is filled by the first load, answers queries, and every
/// change drops it. Who changes files by hand meanwhile calls ``invalidateCache()``. One process at a time writes a
/// folder: several do not damage it, but they do not see each other's changes before they drop their caches.
///
/// It runs on a thread of its own, since it waits for the disk.
public actor LocalFileStorageService: StreamingFileStorageService {
    /// The folder of the journal. It is made by the first call that writes.
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

    /// A journal in a folder, which need not be there yet. Nothing is read or written before the first call.
    public init(folder: URL = LocalFileStorageService.defaultFolder) {
        self.folder = folder
        tree = JournalFolder(path: folder.path)
    }

    /// Where its calls run.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { queue.asUnownedSerialExecutor() }

    /// Forgets what was read, so that the next query reads anew.
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

    /// Changes something, after which nothing that was read counts, also when it fails half-way.
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
