package import LFSSystem

/// The folder `outgoing/` of a local store: copies of the parts that a service of the system uploads.
///
/// ```
/// outgoing/                             0700, created with the first part
/// outgoing/<file id>.<part>.<nonce>     0600, the bytes of one task
/// ```
///
/// The files are disposable and not synced. A task whose file was lost in a power failure fails, and the upload is
/// repeated. Files with other names do not belong to LFS and stay.
package struct OutgoingFolder: Sendable {
    static let name = "outgoing"

    private let directory: Directory

    /// Opens the folder, and creates it if it is missing.
    package init(in store: LocalStore) throws(FileError) {
        directory = try OwnFolder.open(Self.name, in: store.directory)
    }

    private init(_ directory: Directory) { self.directory = directory }

    /// Opens the folder. Returns nil if it does not exist.
    package static func find(in store: LocalStore) throws -> OutgoingFolder? {
        guard try store.directory.status(of: name)?.isDirectory == true else { return nil }
        return OutgoingFolder(try store.directory.openFolder(name))
    }

    /// Returns the path of a part, even if it does not exist.
    package func path(of part: LentPart) -> String { directory.child(part.name) }

    /// Writes a part. Without success nothing is left. Blocks the thread.
    ///
    /// - Parameters:
    ///   - range: the bytes of the part within the file.
    ///   - read: reads at an offset, and returns 0 at the end.
    /// - Returns: false if the bytes end before the range does.
    package func write(
        _ part: LentPart, range: Range<Int64>, flag: CancellationFlag,
        reading read: (UnsafeMutableRawBufferPointer, Int64) throws -> Int
    ) throws -> Bool {
        let file = try directory.create(part.name)
        do {
            var byteCount: Int64 = 0
            try FileCopy.forEachChunk(range, flag: flag, reading: read) { bytes in
                try file.write(bytes)
                byteCount += Int64(bytes.count)
            }
            if byteCount == Int64(range.count) { return true }
            try directory.remove(part.name)
            return false
        } catch {
            try directory.remove(part.name)
            throw error
        }
    }

    /// Removes the parts for which `mayGo` returns true. Blocks the thread.
    ///
    /// - Returns: the number of removed parts, and the total size of the others in bytes.
    @discardableResult
    package func removeAll(
        where mayGo: (LentPart) -> Bool
    ) throws -> (removedCount: Int, keptByteCount: Int64) {
        var names: [String] = []
        var byteCount: Int64 = 0
        try directory.forEachFile { name in
            guard let part = LentPart(name: name), let status = try directory.status(of: name), status.isRegularFile
            else { return true }
            if mayGo(part) { names.append(name) } else { byteCount += status.byteCount }
            return true
        }
        for name in names { try directory.remove(name) }
        return (names.count, byteCount)
    }
}
