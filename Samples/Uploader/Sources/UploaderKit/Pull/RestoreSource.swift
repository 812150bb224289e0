import Foundation
import GRDB
import LFS
import LFSBackup

/// The files, folders and links to restore, which are read in pages.
struct RestoreSource: Sendable {
    let database: any DatabaseReader
    /// The tables with the files.
    let tables: [DocumentTable]
    /// The filter, by paths relative to the outermost pushed folder.
    let filter: PathFilter
    let layout: RestoreLayout
    /// The named files. Nil for all files.
    let named: NamedFiles?
    /// The time whose state is restored. Nil for now.
    let past: Date?
    private static let page = 500

    init(
        _ database: any DatabaseReader, tables: [DocumentTable], naming: FileNaming?, filter: PathFilter,
        asOf past: Date? = nil, to destination: RestoreLayout.Destination
    ) async throws {
        self.database = database
        self.tables = tables
        self.filter = filter
        self.past = past
        (layout, named) = try await database.read { db in
            (
                try RestoreLayout(destination, tables: tables, db),
                try naming?.resolve(
                    tables, withEntries: tables.contains { $0.isOurs }, withVersions: past == nil, db)
            )
        }
    }

    /// A page without the files that the filter excludes.
    struct Page: Sendable {
        var documents: [AttachedDocument]
        var unusable: [UnusableRow]
        /// The paths in the page that a list contains.
        var listed: Set<AssetName>
        /// Files that were not pushed yet at the restored time, and files whose version of that time is not kept.
        var notYet: [FilePath] = []
        var notKept: [FilePath] = []
        /// Files of the first kind that were named individually. If a name matches several files and none of them was
        /// pushed at that time, one of them.
        var nothingYet: [FilePath] = []

        fileprivate var hasOnlyLater: Bool { documents.isEmpty && unusable.isEmpty && notKept.isEmpty }
    }

    static let notYet = "it was not pushed yet at that time"
    static let notKept = """
        its version of that time is no longer kept; 'list --versions' shows the kept ones, and 'push --keep-versions' \
        sets how long versions are kept
        """

    func forEachPage(_ body: (Page) async throws -> Void) async throws {
        guard named != nil, past != nil else { return try await eachPage(body) }
        // A person who names files expects at least one. One file is held back until it is known whether there are
        // others.
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

    /// Calls a closure with pages of folders and links. Each folder precedes its content.
    ///
    /// - Parameter isAll: true to include entries that are not to be restored themselves.
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
        // With a filter, folders are only created for the files in them.
        return filter.takesAll || entry.isLink && filter.takes(layout.pathInFolder(entry.path))
    }
}
