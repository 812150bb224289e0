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
    private static let page = 500

    init(
        _ database: any DatabaseReader, _ tables: [DocumentTable], _ naming: FileNaming?, _ filter: PathFilter,
        to destination: RestoreLayout.Destination
    ) async throws {
        (self.database, self.tables, self.filter) = (database, tables, filter)
        (layout, named) = try await database.read { db in
            (
                try RestoreLayout(destination, tables, db),
                try naming?.resolve(tables, withEntries: tables.contains { $0.isOurs }, db)
            )
        }
    }

    /// One page, without what the filter leaves out.
    struct Page: Sendable {
        var documents: [AttachedDocument]
        var unusable: [UnusableRow]
        /// Those that a list has named.
        var listed: Set<AssetName>
    }

    func forEachPage(_ body: (Page) async throws -> Void) async throws {
        for (index, table) in tables.enumerated() {
            if let named {
                for chunk in named.tables[index].map({ $0.key }).chunks(of: Self.page) {
                    try await body(taken(try await database.read { db in try table.page(of: chunk, db) }))
                }
                continue
            }
            var last = "".databaseValue
            while true {
                let page = try await database.read { [last] db in try table.page(after: last, limit: Self.page, db) }
                guard let end = page.end else { break }
                last = end
                try await body(taken(page))
            }
        }
    }

    private func taken(_ page: DocumentTable.Page) -> Page {
        if filter.takesAll { return Page(documents: page.documents, unusable: page.unusable, listed: []) }
        let documents = page.documents.filter { filter.takes(layout.pathInFolder($0.document.path)) }
        let listed = filter.listed == nil ? [] : documents.map { layout.pathInFolder($0.document.path) }
        return Page(documents: documents, unusable: page.unusable, listed: Set(listed))
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
