import GRDB
import LFSDatabase
import LFSStorage
import LFSSystem

/// Lays the rows of one namespace beside the storage's listing of it and tells what does not match.
///
/// Both come in pages and in the order of the keys, and each page goes before the next but one comes. Nothing depends
/// on that order but how many files are compared once more: a row without an object here is asked for by HEAD, and an
/// object without a row by a query, so a storage that lists in another order, or leaves something out, makes it slower
/// and not wrong.
struct ObjectScan: Sendable {
    struct Page: Sendable {
        /// Rows that say `remote` and whose object was not seen, or not as recorded.
        var doubtful: [FileID] = []
        /// Objects that no row seen so far has.
        var unknown: [RemoteObject] = []
        /// Objects of files that were listed. Copies of the database and other objects below the prefix are none.
        var objects = 0
    }

    /// Of rows and of objects; storages list no more at a time.
    static let pageSize = 1_000

    let runner: BackgroundRunner
    let storage: any RemoteStorage
    /// What the keys begin with, a slash included.
    let prefix: String

    func run(_ onPage: (Page) async throws -> Void) async throws {
        var rows = RowPages(runner: runner, prefix: prefix)
        var listed = try await list(after: nil)
        var watch = ListingWatch()
        while true {
            try watch.check(listed.objects.lazy.map(\.key.rawValue), next: listed.next)
            // The storage works on the next page while this one is worked on.
            let next = listed.next
            async let following = next == nil ? nil : list(after: next)
            var page = Page()
            for object in listed.objects {
                while let row = try await rows.first, row.key < object.key.rawValue {
                    rows.drop()
                    if row.isRemote { page.doubtful.append(row.id) }
                    try await pass(&page, ifFull: true, onPage)
                }
                if let row = try await rows.first, row.key == object.key.rawValue {
                    rows.drop()
                    page.objects += 1
                    if row.isRemote, !Self.matches(row, object) { page.doubtful.append(row.id) }
                } else {
                    if isOfFile(object) { page.objects += 1 }
                    page.unknown.append(object)
                }
            }
            try await pass(&page, onPage)
            guard let next = try await following else { break }
            listed = next
        }
        var page = Page()
        while let row = try await rows.first {
            rows.drop()
            if row.isRemote { page.doubtful.append(row.id) }
            try await pass(&page, ifFull: true, onPage)
        }
        try await pass(&page, onPage)
    }

    private func pass(_ page: inout Page, ifFull: Bool = false, _ onPage: (Page) async throws -> Void) async throws {
        if ifFull, page.doubtful.count < Self.pageSize { return }
        let full = page
        page = Page()
        try await onPage(full)
    }

    private func isOfFile(_ object: RemoteObject) -> Bool {
        FileID(text: String(object.key.rawValue.dropFirst(prefix.count))) != nil
    }

    private func list(after continuation: String?) async throws -> ListPage {
        try await storage.list(ListRequest(prefix: prefix, continuation: continuation, limit: Self.pageSize))
    }

    private static func matches(_ row: ScannedRow, _ object: RemoteObject) -> Bool {
        object.byteCount == row.byteCount && (object.sha256 == nil || object.sha256 == row.sha256)
    }
}

/// The rows whose keys begin with a prefix, page by page.
private struct RowPages {
    private let runner: BackgroundRunner
    private let prefix: String
    private var page: [ScannedRow] = []
    private var last = "".databaseValue
    private var index = 0
    private var isAtEnd = false

    init(runner: BackgroundRunner, prefix: String) {
        self.runner = runner
        self.prefix = prefix
    }

    /// The first row that is not dropped yet.
    var first: ScannedRow? {
        mutating get async throws {
            while index == page.count, !isAtEnd { try await turn() }
            return index < page.count ? page[index] : nil
        }
    }

    mutating func drop() { index += 1 }

    private mutating func turn() async throws {
        let (after, prefix) = (last, prefix)
        let rows = try await runner.read { db in
            try FileTable.scan(after: after, below: prefix, limit: ObjectScan.pageSize, db)
        }
        last = rows.last ?? last
        // The scan of the local files tells those that cannot be read.
        page = rows.elements.compactMap(\.readable)
        index = 0
        isAtEnd = rows.last == nil
    }
}
