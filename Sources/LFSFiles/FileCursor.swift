package import LFSSystem

/// A place in the listing of a folder that holds files named by their ids. Other names are passed over.
package final class FileCursor: Sendable {
    package struct Entry: Sendable {
        package let id: FileID
        /// Time of the last change of content or name, in nanoseconds since 1970.
        package let changed: Nanoseconds
        package let byteCount: Int64
    }

    private let directory: Directory
    private let names: DirectoryCursor

    init(_ directory: Directory) throws(SystemError) {
        self.directory = directory
        names = try directory.names()
    }

    /// The ids among the next names; nil at the end. Only names are read, so an id may also be that of a folder. Blocks
    /// the thread.
    package func nextIDs(limit: Int = 500) throws(SystemError) -> [FileID]? {
        let page = try names.next(limit: limit)
        if page.isEmpty { return nil }
        return page.compactMap(FileID.init(name:))
    }

    /// Calls the body with each page from here on; see ``next(limit:)``. The pages are read where blocking is allowed.
    package func forEachPage(_ body: ([Entry]) async throws -> Void) async throws {
        while let page = try await BlockingPool.shared.run({ _ in try self.next() }) { try await body(page) }
    }

    /// The next page, nil at the end. One that holds no file of ours is empty. Blocks the thread.
    package func next(limit: Int = 500) throws(SystemError) -> [Entry]? {
        let page = try names.next(limit: limit)
        if page.isEmpty { return nil }
        var entries: [Entry] = []
        for bytes in page {
            guard let name = String(validating: bytes, as: UTF8.self), let id = FileID(text: name),
                let status = try directory.status(of: name), status.isRegularFile
            else { continue }
            entries.append(Entry(id: id, changed: status.changed, byteCount: status.byteCount))
        }
        return entries
    }
}
