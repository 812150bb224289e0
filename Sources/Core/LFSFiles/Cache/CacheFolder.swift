package import LFSSystem

/// The folder of a cache, which holds disposable bytes that can be fetched again.
///
/// ```
/// cache/                        0700
///   cache.lock                  held shared by everyone who has the cache open. Exclusive to start over and to sweep
///   cache.sqlite (-wal, -shm)   the entries
///   cache.damaged               exists if the database was found damaged and was not removed yet
///   0198c1f2-….cached           0600, the bytes of one large entry
/// ```
///
/// Files with other names do not belong to the cache and stay. The suffix of entry files differs from all names in a
/// local store, so a cache in the wrong folder removes nothing there.
package final class CacheFolder: Sendable {
    /// The name of the folder in a local store.
    package static let name = "cache"
    package static let databaseName = "cache.sqlite"
    private static let lockName = "cache.lock"
    private static let damageName = "cache.damaged"
    private static let fileSuffix = ".cached"

    package let directory: Directory
    /// The lock, held shared as long as the cache is open.
    package let lock: FileLock

    /// Opens the folder, and creates it if it is missing. Its parent must exist.
    ///
    /// - Throws: ``FileError/Code/wrongStore`` if the path is not absolute, if a link or a file has the folder's name,
    ///   or if its lock file is a link or has a second name, and ``FileError/Code/permissionDenied`` if other users
    ///   could replace the contents of the folder.
    package convenience init(at path: String) throws(FileError) {
        guard let (parent, name) = Self.split(path) else {
            throw FileError(.wrongStore, message: "A cache cannot be in this folder: \(path).", path: path)
        }
        do {
            let folder = try Directory.open(parent)
            try OwnFolder.requireSharedFolder(folder, path: parent)
            try self.init(try OwnFolder.open(name, in: folder))
        } catch {
            throw FileError.keeping(error, at: path)
        }
    }

    init(_ directory: Directory) throws(FileError) {
        self.directory = directory
        lock = try OwnFolder.lock(Self.lockName, in: directory)
    }

    package var databasePath: String { directory.child(Self.databaseName) }

    // MARK: Large entries

    package static func fileName(of id: FileID) -> String { id.text + fileSuffix }

    /// Returns the id in the name of a large entry's file, or nil for any other name.
    package static func id(ofFile name: String) -> FileID? {
        name.hasSuffix(fileSuffix) ? FileID(text: String(name.dropLast(fileSuffix.utf8.count))) : nil
    }

    /// Opens the file of a large entry. Returns nil if it is missing, has another size, or is not solely this user's.
    package func open(_ id: FileID, byteCount: Int) throws(SystemError) -> Descriptor? {
        guard let file = try directory.openRegular(Self.fileName(of: id)) else { return nil }
        let status = try file.status()
        return status.isSolelyOurs && status.byteCount == Int64(byteCount) ? file : nil
    }

    /// Writes the bytes of a large entry, and removes them again if that fails. They are not synced, because damage
    /// from a power failure is detected when the entry is read. Blocks the thread.
    package func write(_ bytes: UnsafeRawBufferPointer, as id: FileID) throws(SystemError) {
        let name = Self.fileName(of: id)
        let file = try directory.create(name)
        do throws(SystemError) {
            try file.write(bytes)
        } catch {
            try directory.remove(name)
            throw error
        }
    }

    package func remove(_ id: FileID) throws(SystemError) { try directory.remove(Self.fileName(of: id)) }

    /// Removes the files of large entries for which `mayGo` returns true. Only the holder of the exclusive lock may
    /// call it, because another process may have written files whose rows it has not inserted yet. Blocks the thread.
    package func removeFiles(where mayGo: (FileID) -> Bool) throws {
        var names: [String] = []
        try directory.forEachFile { name in
            if let id = Self.id(ofFile: name), mayGo(id) { names.append(name) }
            return true
        }
        for name in names { try removeFile(name) }
    }

    // MARK: Starting over

    /// Returns true if the database was found damaged and was not removed yet.
    package func isDamaged() throws(SystemError) -> Bool { try directory.status(of: Self.damageName) != nil }

    /// Records that the database is damaged. The next process that has the folder alone then starts over.
    package func noteDamage() throws(SystemError) { _ = try directory.openOrCreate(Self.damageName) }

    /// Removes all files of the cache except the lock. The database comes first, because the rest is useless without
    /// it, and the damage record last. Only the holder of the exclusive lock may call it. Folders stay, and a link is
    /// removed without its target. Blocks the thread.
    package func removeEverything() throws {
        for suffix in ["", "-wal", "-shm", "-journal"] { try removeFile(Self.databaseName + suffix) }
        try removeFiles { _ in true }
        try removeFile(Self.damageName)
    }

    /// Removes the entry with this name, unless it is a folder. LFS never creates one in the cache.
    private func removeFile(_ name: String) throws(SystemError) {
        guard let status = try directory.status(of: name), !status.isDirectory else { return }
        try directory.remove(name)
    }

    /// Returns the parent and the name of a folder if the path is absolute and ends in a name.
    private static func split(_ path: String) -> (parent: String, name: String)? {
        guard path.utf8.first == 0x2F, !path.utf8.contains(0) else { return nil }
        let parts = path.split(separator: "/")
        guard let name = parts.last, name != "..", name != "." else { return nil }
        return ("/" + parts.dropLast().joined(separator: "/"), String(name))
    }
}
