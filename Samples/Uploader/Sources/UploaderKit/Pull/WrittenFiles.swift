import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The files and links that a pull has written or found to be right.
///
/// Two names can refer to the same file: if the file system ignores case, normalizes Unicode, or drops dots and blanks
/// at the end. Only the file system knows, so files are compared by device and inode. Some file systems, such as exFAT
/// by FUSE, report a separate inode for each name. There a file counts as the same if it looks the same and the folder
/// does not list the name.
final class WrittenFiles: Sendable {
    private struct Identity: Hashable {
        let device: UInt64
        let inode: UInt64

        init(_ status: stat) {
            device = UInt64(truncatingIfNeeded: status.st_dev)
            inode = UInt64(status.st_ino)
        }
    }

    private struct State {
        var identities: Set<Identity> = []
        /// Hashes of device, size and times instead of the values, because there may be millions.
        var looks: Set<Int> = []

        mutating func insert(_ status: stat) {
            identities.insert(Identity(status))
            looks.insert(look(status))
        }

        func contains(_ status: stat, name: [UInt8], in folder: OpenFolder) throws -> Bool {
            // A hard link to a written file is a separate name, and only this name is replaced.
            if status.st_nlink == 1, identities.contains(Identity(status)) { return true }
            guard looks.contains(look(status)) else { return false }
            return try !folder.names().contains(name)
        }

        private func look(_ status: stat) -> Int {
            #if canImport(Darwin)
            let times = [status.st_mtimespec, status.st_ctimespec]
            #else
            let times = [status.st_mtim, status.st_ctim]
            #endif
            var hasher = Hasher()
            hasher.combine(status.st_dev)
            hasher.combine(status.st_size)
            for time in times {
                hasher.combine(time.tv_sec)
                hasher.combine(time.tv_nsec)
            }
            return hasher.finalize()
        }
    }

    private let state = Mutex(State())
    /// The files that exist again where they were pushed from.
    private let returns = Mutex<[MovedTable.Return]>([])

    func note(_ back: MovedTable.Return) { returns.withLock { $0.append(back) } }

    /// Returns the files that were recorded since the last call.
    func takeReturns() -> [MovedTable.Return] {
        returns.withLock { returns in
            defer { returns = [] }
            return returns
        }
    }

    /// Records the file at a place once it is in its final state. Files are written concurrently, so a new file gets
    /// its name in the same step.
    ///
    /// - Parameter name: renames a new file. Returns false with `errno` set on failure.
    /// - Throws: ``UploaderError`` if the place has a file that this pull has written. Errors of `name`.
    @discardableResult
    func take(_ place: RestorePlace, in folder: OpenFolder, _ name: () throws -> Bool) throws -> Bool {
        try state.withLock { state in
            if let status = try folder.status(of: place.name), try state.contains(status, name: place.name, in: folder)
            {
                throw UploaderError(
                    """
                    \(place.path) belongs to another file of this pull: the file system does not distinguish their \
                    names
                    """)
            }
            guard try name() else { return false }
            if let status = try folder.status(of: place.name) { state.insert(status) }
            return true
        }
    }
}
