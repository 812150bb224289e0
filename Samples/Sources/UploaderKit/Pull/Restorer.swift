import Foundation
import GRDB
import LFS
import LFSBackup

/// Writes attached files into a folder, several beside each other.
///
/// A file that is not on this device is fetched into the local store first, which checks it and goes on with what an
/// earlier run had of it, also one that was killed.
struct Restorer: Sendable {
    let database: any DatabaseWriter
    /// Which of them.
    let tables: [DocumentTable]
    let lfs: LFSManager
    let report: Report
    let folder: String
    /// Which of them, by their paths from the folder on that was pushed.
    let filter: PathFilter

    /// How many files are fetched beside each other.
    static let parallel = 8
    private static let page = 500

    /// - Parameter naming: the files; nil for all.
    func run(_ naming: FileNaming?) async throws {
        let listed = try await restore(naming)
        for path in (filter.listed ?? []).subtracting(listed).sorted(by: { $0.description < $1.description }) {
            report.failed(FilePath(path), "it is listed, and no such file is here")
        }
    }

    /// - Returns: those that a list has named.
    private func restore(_ naming: FileNaming?) async throws -> Set<AssetName> {
        var listed: Set<AssetName> = []
        try RestoreTarget.makeFolder(folder)
        let (ambiguous, named) = try await database.read { db in
            let shared = try tables.count > 1 ? DocumentTable.sharedTitles(db) : []
            let ambiguous = try tables.reduce(into: shared) { $0.formUnion(try $1.ambiguousTitles(db)) }
            return (ambiguous, try naming?.resolve(tables, db))
        }
        guard let named else {
            for table in tables { try await restoreAll(table, ambiguous, &listed) }
            return listed
        }
        report.failed(named.refusals)
        for (table, files) in zip(tables, named.tables) {
            for chunk in files.map(\.key).chunks(of: Self.page) {
                let page = try await database.read { db in try table.page(of: chunk, db) }
                try await restore(page, ambiguous, &listed)
            }
        }
        return listed
    }

    private func restoreAll(
        _ table: DocumentTable, _ ambiguous: Set<String>, _ listed: inout Set<AssetName>
    ) async throws {
        var last = "".databaseValue
        while true {
            let page = try await database.read { [last] db in try table.page(after: last, limit: Self.page, db) }
            guard let end = page.end else { break }
            last = end
            try await restore(page, ambiguous, &listed)
        }
    }

    private func restore(
        _ page: DocumentTable.Page, _ ambiguous: Set<String>, _ listed: inout Set<AssetName>
    ) async throws {
        let documents = page.documents.filter { filter.takesAll || filter.takes($0.document.pathInFolder) }
        if filter.listed != nil { listed.formUnion(documents.map(\.document.pathInFolder)) }
        report.pending(
            files: documents.count, bytes: documents.reduce(0) { $0.addingSaturated($1.file.byteCount) })
        for row in page.unusable { report.failed(FilePath(row.fileID), row.reason) }
        try await restore(documents, ambiguous)
    }

    private func restore(_ documents: [AttachedDocument], _ ambiguous: Set<String>) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, attached) in documents.enumerated() {
                if index >= Self.parallel { try await group.next() }
                group.addTask { try await restore(attached, ambiguous.contains(attached.document.title)) }
            }
            try await group.waitForAll()
        }
    }

    private func restore(_ attached: AttachedDocument, _ isAmbiguous: Bool) async throws {
        let path = attached.document.path
        do {
            let target = try RestoreTarget(attached, in: folder, isAmbiguous: isAmbiguous)
            if try target.isThere(attached.file, onBytes: { _ in report.worked() }) {
                try target.clearPart()
                return report.unchanged(target.path)
            }
            let wasHere = try await lfs.hasLocalCopy(of: attached.file.id)
            guard let contents = try await lfs.contents(of: attached.file) else {
                return report.failed(path, "the device that made it has not uploaded it yet")
            }
            try await target.write(contents, of: attached.file) { _ in report.worked() }
            report.pulled(attached.file, target.path)
            if !wasHere { await free(attached) }
        } catch {
            // A run that was interrupted is not a file that failed.
            try Task.checkCancellation()
            report.failed(path, Words.of(error))
        }
    }

    /// What was fetched only to be written out need not take the space twice. If it stays, it was pulled all the same.
    private func free(_ attached: AttachedDocument) async {
        do {
            try await lfs.evict(attached.file.id)
        } catch let error as LFSError where error.code == .notUploaded || error.code == .pinned {
            // It is wanted here: pinned, or about to be uploaded once more.
        } catch {
            report.message("\(attached.document.path) was pulled, and its local copy stays: \(Words.of(error))")
        }
    }
}
