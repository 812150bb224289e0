import Foundation

/// Copies a journal from one implementation to another: an import, an export, a backup.
///
/// Tags, records and pictures come out as they went in, so that a folder that was imported into a database and exported
/// into an empty folder is the same byte for byte, provided that it was written by us: what its owner wrote by hand
/// comes back in our layout. Doing it again does no harm. What the target has besides stays.
public struct JournalCopy: Sendable {
    private let source: any StreamingFileStorageService
    private let target: any StreamingFileStorageService

    /// A copy that has not begun.
    public init(from source: any StreamingFileStorageService, to target: any StreamingFileStorageService) {
        self.source = source
        self.target = target
    }

    /// What was copied, and what was not.
    public struct Report: Hashable, Sendable {
        /// Tags that were copied; those of the target that the source does not have stay behind them.
        public var tags = 0
        /// Records that were copied.
        public var records = 0
        /// Pictures that were copied.
        public var pictures = 0
        /// What could not be copied, because it is damaged or missing in the source.
        public var damaged: [DamagedRecord] = []
    }

    /// Copies everything, one record after the other.
    ///
    /// - Parameter onRecord: takes what is copied so far after each record.
    /// - Returns: what was copied. Where something is damaged it names it and goes on.
    /// - Throws: ``FileStorageError`` when the target takes nothing, or the source gives nothing at all.
    public func run(onRecord: (Report) throws -> Void = { _ in }) async throws -> Report {
        var report = Report()
        report.damaged = try await source.damagedRecords()
        report.tags = try await copyTags()
        for record in try await source.loadAllRecords() {
            try Task.checkCancellation()
            try await target.saveRecord(record)
            for name in record.images {
                do {
                    let chunks = try await source.imageChunks(filename: name, for: record)
                    try await target.saveImage(from: chunks, for: record, filename: name)
                    report.pictures += 1
                } catch let FileStorageError.imageNotFound(name, reason) {
                    let finding = DamagedRecord(name: name, reason: reason)
                    // The source may have named it by itself.
                    if !report.damaged.contains(where: { $0.name.hasSuffix(name) }) { report.damaged.append(finding) }
                }
            }
            // The target may have had some before, in another order.
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
        // Without tags there need be no file of them.
        if !tags.isEmpty { try await target.saveTags(tags + others) }
        return tags.count
    }
}
