import GRDB
import LFSDatabase
import LFSStorage
import LFSSystem

/// A comparison of the rows of one namespace with the storage's listing of it.
///
/// Both are read in pages, in the order of the keys. A page is finished before the page after the next is requested.
/// The order only affects how many files are compared again. A row without an object in the listing is checked by HEAD,
/// and an object without a row by a query. So a storage that lists in another order, or incompletely, makes the scan
/// slower but not wrong.
struct ObjectScan: Sendable {
    struct Page: Sendable {
        /// The rows with the status `remote` whose object was not listed, or not as recorded.
        var doubtful: [FileID] = []
        /// The objects that no row has so far.
        var unknown: [RemoteObject] = []
        /// The number of listed objects of files. Copies of the database and other objects below the prefix do not
        /// count.
        var objects = 0
    }

    /// The page size for rows and for objects. Storages list at most this many at a time.
    static let pageSize = 1_000

    let runner: BackgroundRunner
    let storage: any RemoteStorage
    /// The common prefix of the keys, including the slash.
    let prefix: String

    func run(_ onPage: (Page) async throws -> Void) async throws {
        var rows = RowPages(runner: runner, prefix: prefix)
        var listed = try await list(after: nil)
        var watch = ListingWatch()
        while true {
            try watch.check(listed.objects.lazy.map(\.key.rawValue), next: listed.next)
            // The storage prepares the next page while this one is compared.
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
                    if row.isRemote, !Self.matches(row, object: object) { page.doubtful.append(row.id) }
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

    private static func matches(_ row: ScannedRow, object: RemoteObject) -> Bool {
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
        // The scan of the local files reports the rows that cannot be read.
        page = rows.elements.compactMap(\.readable)
        index = 0
        isAtEnd = rows.last == nil
    }
}
