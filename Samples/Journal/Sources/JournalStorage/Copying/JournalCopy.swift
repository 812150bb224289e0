/// Copies a journal from one implementation to another: an import, an export or a backup.
///
/// Tags, records and pictures are copied unchanged. A folder that is imported into a database and exported into an
/// empty folder is the same byte for byte, provided that this library wrote it. Files that its owner wrote by hand are
/// exported in the library's layout. A copy may be repeated. Other contents of the target are kept.
public struct JournalCopy: Sendable {
    private let source: any StreamingFileStorageService
    private let target: any StreamingFileStorageService

    /// Creates a copy that has not started.
    public init(from source: any StreamingFileStorageService, to target: any StreamingFileStorageService) {
        self.source = source
        self.target = target
    }

    /// A report of the copied and the damaged items.
    public struct Report: Hashable, Sendable {
        /// The number of tags that were copied. Tags that only the target has are placed after them.
        public var tags = 0
        /// The number of records that were copied.
        public var records = 0
        /// The number of pictures that were copied.
        public var pictures = 0
        /// The items that could not be copied, because they are damaged or missing in the source.
        public var damaged: [DamagedRecord] = []
    }

    /// Copies all contents, one record after the other. A damaged item is reported and does not end the copy.
    ///
    /// - Parameter onRecord: A closure that receives the report so far after each record.
    /// - Returns: The report of the copy.
    /// - Throws: ``FileStorageError`` if the target cannot be written or the source cannot be read at all.
    public func run(onRecord: (Report) throws -> Void = { _ in }) async throws -> Report {
        var report = Report()
        report.damaged = try await source.damagedRecords()
        report.tags = try await copyTags()
        for record in try await source.loadAllRecords() {
            try Task.checkCancellation()
            try await target.saveRecord(record)
            for name in record.images {
                try await report.copyPicture(name, of: record, from: source, to: target)
            }
            // The target may already have some of the pictures, in another order.
            if !record.images.isEmpty { try await target.updateRecord(record) }
            report.records += 1
            try onRecord(report)
        }
        return report
    }

    private func copyTags() async throws -> Int {
        let tags = try await source.loadTags()
        let ids = Set(tags.map(\.id))
        let others = try await target.loadTags().filter { !ids.contains($0.id) }
        // A journal without tags needs no file of tags.
        if !tags.isEmpty { try await target.saveTags(tags + others) }
        return tags.count
    }
}

extension JournalCopy.Report {
    /// Copies a picture of a record. A missing picture is added to the damaged items.
    mutating func copyPicture(
        _ name: String, of record: TimeRecord, from source: any StreamingFileStorageService,
        to target: any StreamingFileStorageService
    ) async throws {
        do {
            let chunks = try await source.imageChunks(filename: name, for: record)
            try await target.saveImage(from: chunks, for: record, filename: name)
            pictures += 1
        } catch let FileStorageError.imageNotFound(name, reason) {
            // The source's own list of damaged records may already contain the picture.
            guard !damaged.contains(where: { $0.name.hasSuffix(name) }) else { return }
            damaged.append(DamagedRecord(name: name, reason: "\(reason)"))
        }
    }
}
