package import LFSSystem

/// A position in the listing of a folder whose files are named by their ids. It skips other names.
package final class FileCursor: Sendable {
    package struct Entry: Sendable {
        package let id: FileID
        /// The time of the last change to content or name, in nanoseconds since 1970.
        package let changed: Nanoseconds
        package let byteCount: Int64
    }

    private let directory: Directory
    private let names: DirectoryCursor

    init(_ directory: Directory) throws(SystemError) {
        self.directory = directory
        names = try directory.names()
    }

    /// Returns the ids among the next names, or nil at the end. Only names are read, so an id may also be the name of a
    /// folder. Blocks the thread.
    package func nextIDs(limit: Int = 500) throws(SystemError) -> [FileID]? {
        let page = try names.next(limit: limit)
        if page.isEmpty { return nil }
        return page.compactMap(FileID.init(name:))
    }

    /// Calls the body with each remaining page. See ``next(limit:)``. The pages are read on threads that may block.
    package func forEachPage(_ body: ([Entry]) async throws -> Void) async throws {
        while let page = try await BlockingPool.shared.run({ _ in try self.next() }) { try await body(page) }
    }

    /// Returns the next page, or nil at the end. A page without any file of LFS is empty. Blocks the thread.
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
