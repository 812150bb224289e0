package import LFSSystem

/// The folder of a cache: bytes that can be had again, which nobody misses.
///
/// ```
/// cache/                        0700
///   cache.lock                  held shared by all that have the cache open; exclusive to begin anew and to sweep
///   cache.sqlite (-wal, -shm)   the entries
///   cache.damaged               says that the database is damaged and was not removed yet
///   0198c1f2-….cached           0600, the bytes of one large entry
/// ```
///
/// Other names are none of ours and stay. The names of entries end as no file of a local store does, so that a cache
/// in the wrong folder removes nothing there.
package final class CacheFolder: Sendable {
    /// Its name in a local store.
    package static let name = "cache"
    package static let databaseName = "cache.sqlite"
    private static let lockName = "cache.lock"
    private static let damageName = "cache.damaged"
    private static let fileSuffix = ".cached"

    package let directory: Directory
    /// Held shared as long as the cache is open.
    package let lock: FileLock

    /// Opens the folder and makes it if it is missing; its parent has to exist.
    ///
    /// - Throws: ``FileError/Code/wrongStore`` when a link has its name or the one of its lock,
    ///   ``FileError/Code/permissionDenied`` when others could replace what is in it.
    package convenience init(at path: String) throws(FileError) {
        guard let (parent, name) = Self.split(path) else {
            throw FileError(.wrongStore, "A cache cannot be in this folder: \(path).", path: path)
        }
        do {
            let folder = try Directory.open(parent)
            try OwnFolder.requireShared(folder.status(), parent)
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

    /// The id in the name of a large entry's file; nil for any other name.
    package static func id(ofFile name: String) -> FileID? {
        name.hasSuffix(fileSuffix) ? FileID(text: String(name.dropLast(fileSuffix.utf8.count))) : nil
    }

    /// The file of a large entry; nil when there is none, or one of another size or of other users.
    package func open(_ id: FileID, byteCount: Int) throws(SystemError) -> Descriptor? {
        guard let file = try directory.openRegular(Self.fileName(of: id)) else { return nil }
        let status = try file.status()
        return status.isSolelyOurs && status.byteCount == Int64(byteCount) ? file : nil
    }

    /// Writes the bytes of a large entry, and leaves nothing of them when that fails. They are not synced: what a power
    /// cut leaves is checked when it is read. Blocks the thread.
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

    /// Removes the files of large entries for which a question is answered with yes. Only for the holder of the
    /// exclusive lock: others may have files whose rows come next. Blocks the thread.
    package func removeFiles(where mayGo: (FileID) -> Bool) throws {
        var names: [String] = []
        try directory.forEachFile { name in
            if let id = Self.id(ofFile: name), mayGo(id) { names.append(name) }
            return true
        }
        for name in names { try removeFile(name) }
    }

    // MARK: Beginning anew

    /// Whether the database was found damaged and is still there.
    package func isDamaged() throws(SystemError) -> Bool { try directory.status(of: Self.damageName) != nil }

    /// Notes that the database is damaged, so that the next to have the folder alone begins anew.
    package func noteDamage() throws(SystemError) { _ = try directory.openOrCreate(Self.damageName) }

    /// Removes what is ours but the lock: the database first, without which the rest means nothing, and the note of
    /// damage last. Only for the holder of the exclusive lock. Folders stay, and of a link only the name goes. Blocks
    /// the thread.
    package func removeEverything() throws {
        for suffix in ["", "-wal", "-shm", "-journal"] { try removeFile(Self.databaseName + suffix) }
        try removeFiles { _ in true }
        try removeFile(Self.damageName)
    }

    /// Removes what has the name, unless it is a folder, which we never make.
    private func removeFile(_ name: String) throws(SystemError) {
        guard let status = try directory.status(of: name), !status.isDirectory else { return }
        try directory.remove(name)
    }

    /// The parent and the name of a folder, if the path is absolute and ends in a name.
    private static func split(_ path: String) -> (parent: String, name: String)? {
        guard path.utf8.first == 0x2F, !path.utf8.contains(0) else { return nil }
        let parts = path.split(separator: "/")
        guard let name = parts.last, name != "..", name != "." else { return nil }
        return ("/" + parts.dropLast().joined(separator: "/"), String(name))
    }
}
