import Foundation
import GRDB
import LFS
import LFSBackup

/// Which files, folders and links are restored, read page by page.
struct RestoreSource: Sendable {
    let database: any DatabaseReader
    /// Which of the files.
    let tables: [DocumentTable]
    /// Which of them, by their paths from the outermost folder on that was pushed.
    let filter: PathFilter
    let layout: RestoreLayout
    /// Nil for all.
    let named: NamedFiles?
    /// The time that files are restored as of; nil for now.
    let past: Date?
    private static let page = 500

    init(
        _ database: any DatabaseReader, _ tables: [DocumentTable], _ naming: FileNaming?, _ filter: PathFilter,
        asOf past: Date? = nil, to destination: RestoreLayout.Destination
    ) async throws {
        (self.database, self.tables, self.filter, self.past) = (database, tables, filter, past)
        (layout, named) = try await database.read { db in
            (
                try RestoreLayout(destination, tables, db),
                try naming?.resolve(
                    tables, withEntries: tables.contains { $0.isOurs }, withVersions: past == nil, db)
            )
        }
    }

    /// One page, without what the filter leaves out.
    struct Page: Sendable {
        var documents: [AttachedDocument]
        var unusable: [UnusableRow]
        /// Those that a list has named.
        var listed: Set<AssetName>
        /// Those that were not pushed yet at the time that files are restored as of, and those of which it is not kept
        /// what they were then.
        var notYet: [FilePath] = []
        var notKept: [FilePath] = []
        /// Those of them that were named each for itself; of what was named together one, where nothing of it had been
        /// pushed by then.
        var nothingYet: [FilePath] = []

        fileprivate var hasOnlyLater: Bool { documents.isEmpty && unusable.isEmpty && notKept.isEmpty }
    }

    static let notYet = "it was not pushed yet at that time"
    static let notKept = "what it was at that time is not kept any more; 'list --versions' shows what is"

    func forEachPage(_ body: (Page) async throws -> Void) async throws {
        guard named != nil, past != nil else { return try await eachPage(body) }
        // Who names something expects to get something, so one is kept back until it is known whether there is any.
        var (later, hasAny): (FilePath?, Bool) = (nil, false)
        try await eachPage { page in
            var page = page
            hasAny = hasAny || !page.hasOnlyLater
            if later == nil, !page.notYet.isEmpty { later = page.notYet.removeFirst() }
            try await body(page)
        }
        guard let later else { return }
        var last = Page(documents: [], unusable: [], listed: [])
        if hasAny { last.notYet = [later] } else { last.nothingYet = [later] }
        try await body(last)
    }

    private func eachPage(_ body: (Page) async throws -> Void) async throws {
        for (index, table) in tables.enumerated() {
            if let named {
                for chunk in named.tables[index].map({ $0.key }).chunks(of: Self.page) {
                    try await body(try await database.read { db in try taken(table.page(of: chunk, db), db) })
                }
                continue
            }
            var last = "".databaseValue
            while true {
                let (page, end) = try await database.read { [last] db in
                    let page = try table.page(after: last, limit: Self.page, db)
                    return (try taken(page, db), page.end)
                }
                guard let end else { break }
                last = end
                try await body(page)
            }
        }
        for chunk in (named?.versions ?? []).map({ $0.key }).chunks(of: Self.page) {
            try await body(try await database.read { db in try taken(VersionTable.page(of: chunk, db), db) })
        }
    }

    private func taken(_ page: DocumentTable.Page, _ db: Database) throws -> Page {
        var taken = Page(documents: page.documents, unusable: page.unusable, listed: [])
        if !filter.takesAll {
            taken.documents = page.documents.filter { filter.takes(layout.pathInFolder($0.document.path)) }
        }
        if filter.listed != nil { taken.listed = Set(taken.documents.map { layout.pathInFolder($0.document.path) }) }
        guard let past else { return taken }
        let current = taken.documents
        taken.documents = []
        for attached in current {
            switch try VersionTable.past(of: attached, at: past, db) {
            case .version(.success(let version)): taken.documents.append(version)
            case .version(.failure(let row)): taken.unusable.append(row)
            case .notYet where named?.single.contains(attached.document.id.databaseValue) == true:
                taken.nothingYet.append(attached.document.path)
            case .notYet: taken.notYet.append(attached.document.path)
            case .notKept: taken.notKept.append(attached.document.path)
            }
        }
        return taken
    }

    /// The folders and links, each folder before what is in it.
    ///
    /// - Parameter isAll: whether also those are wanted that are not to be restored for themselves.
    func forEachEntryPage(isAll: Bool = false, _ body: (EntryTable.Page) async throws -> Void) async throws {
        guard tables.contains(where: { $0.isOurs }) else { return }
        var last = "".databaseValue
        while true {
            var page = try await database.read { [last] db in
                try EntryTable.page(after: last, limit: Self.page, db)
            }
            guard let end = page.end else { return }
            last = end
            if !isAll {
                page.entries = page.entries.filter(takes)
                if named != nil { page.unusable = [] }
            }
            try await body(page)
        }
    }

    private func takes(_ entry: Entry) -> Bool {
        if let named, !named.entries.contains(entry.path) { return false }
        // With a filter, folders come with the files in them only.
        return filter.takesAll || entry.isLink && filter.takes(layout.pathInFolder(entry.path))
    }
}
