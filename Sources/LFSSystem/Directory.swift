import CLinux

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// An open directory. Names are resolved relative to it, so a folder that is renamed or replaced
/// under its path cannot lead a call elsewhere. Symbolic links are never followed.
package final class Directory: Sendable {
    package let path: String
    private let descriptor: Descriptor
    private let syncs: SharedSync

    private init(_ descriptor: Descriptor) {
        self.descriptor = descriptor
        self.path = descriptor.path
        self.syncs = SharedSync { () throws(SystemError) in try descriptor.synchronizeFolder() }
    }

    // MARK: Opening

    package static func open(_ path: String) throws(SystemError) -> Directory {
        let flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC
        return Directory(Descriptor(owning: try OpenCall.run(path) { openat(AT_FDCWD, path, flags) }, path: path))
    }

    /// Opens the folder and makes it first if it is missing, with mode 0700; its parent has to exist.
    package static func openOrMake(_ path: String) throws(SystemError) -> Directory {
        if mkdir(path, 0o700) != 0 {
            let error = SystemError(call: "mkdir", path: path, errno: errno)
            guard error.isExisting else { throw error }
            return try open(path)
        }
        return try open(path).setUp()
    }

    /// Opens a folder below this one and makes it first if it is missing, with mode 0700.
    package func openOrMake(_ name: String) throws(SystemError) -> Directory {
        if mkdirat(descriptor.raw, name, 0o700) != 0 {
            let error = SystemError(call: "mkdir", path: child(name), errno: errno)
            guard error.isExisting else { throw error }
            return try openFolder(name)
        }
        return try openFolder(name).setUp()
    }

    /// The mode that was asked for, whatever the umask took of it.
    private func setUp() throws(SystemError) -> Directory {
        try descriptor.setMode(0o700, isNew: true)
        return self
    }

    /// Opens a folder below this one.
    package func openFolder(_ name: String) throws(SystemError) -> Directory {
        let flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW
        return Directory(Descriptor(owning: try openAt(name, flags), path: child(name)))
    }

    // MARK: Files

    /// Makes a file that must not exist yet, open for reading and writing.
    package func create(_ name: String, mode: UInt32 = 0o600) throws(SystemError) -> Descriptor {
        let flags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW
        let file = Descriptor(owning: try openAt(name, flags, mode), path: child(name))
        try file.setMode(mode, isNew: true)
        return file
    }

    package func openForReading(_ name: String) throws(SystemError) -> Descriptor {
        let flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK
        return Descriptor(owning: try openAt(name, flags), path: child(name))
    }

    /// Opens a file for locking or for reading and writing, and makes it if it is missing.
    ///
    /// What has the name already is opened whatever it is, but for a link: the caller looks.
    package func openOrCreate(_ name: String) throws(SystemError) -> Descriptor {
        // O_NONBLOCK: a named pipe would block the open.
        let flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK
        while true {
            do {
                return Descriptor(owning: try openAt(name, flags), path: child(name))
            } catch let error where error.isMissing {}
            do {
                return try create(name)
            } catch let error where error.isExisting {}
        }
    }

    /// What the name stands for, or nil if nothing has it.
    package func status(of name: String) throws(SystemError) -> FileStatus? {
        var raw = stat()
        if fstatat(descriptor.raw, name, &raw, AT_SYMLINK_NOFOLLOW) == 0 { return FileStatus(raw) }
        let error = SystemError(call: "stat", path: child(name), errno: errno)
        if error.isMissing { return nil }
        throw error
    }

    /// What this directory itself is, to tell whether it is still the one that was opened.
    package func status() throws(SystemError) -> FileStatus { try descriptor.status() }

    /// Moves a file within one file system, in one step; what stood under the new name is replaced.
    package func rename(_ name: String, to directory: Directory, as newName: String) throws(SystemError) {
        try checked("rename", child(name)) {
            renameat(descriptor.raw, name, directory.descriptor.raw, newName)
        }
    }

    /// As ``rename(_:to:as:)``, but throws `EEXIST` when the new name is taken.
    package func renameExclusively(_ name: String, to directory: Directory, as newName: String) throws(SystemError) {
        // A hard link fails when its name is taken, on every POSIX system. FAT and some network file systems have none.
        do {
            try checked("link", directory.child(newName)) {
                linkat(descriptor.raw, name, directory.descriptor.raw, newName, 0)
            }
        } catch let error where error.isUnsupported {
            return try renameWithoutLink(name, to: directory, as: newName)
        }
        try checked("unlink", child(name)) { unlinkat(descriptor.raw, name, 0) }
    }

    /// What ``renameExclusively(_:to:as:)`` does where there are no hard links.
    func renameWithoutLink(_ name: String, to directory: Directory, as newName: String) throws(SystemError) {
        let target = directory.descriptor.raw
        #if canImport(Darwin)
        try checked("renameatx_np", directory.child(newName)) {
            renameatx_np(descriptor.raw, name, target, newName, UInt32(RENAME_EXCL))
        }
        #else
        try checked("renameat2", directory.child(newName)) {
            lfs_rename_exclusively(descriptor.raw, name, target, newName)
        }
        #endif
    }

    /// Moves a caller's own file into this directory, within one file system. What had the name is replaced.
    package func take(_ path: String, as name: String) throws(SystemError) {
        try checked("rename", path) { renameat(AT_FDCWD, path, descriptor.raw, name) }
    }

    /// Removes a file. Returns false when it was not there.
    @discardableResult
    package func remove(_ name: String) throws(SystemError) -> Bool {
        if unlinkat(descriptor.raw, name, 0) == 0 { return true }
        let error = SystemError(call: "unlink", path: child(name), errno: errno)
        if error.isMissing { return false }
        // Apple platforms give EPERM for a folder, as if the caller had no right to remove it; Linux gives EISDIR.
        if error.errno == EPERM, try status(of: name)?.isDirectory == true {
            throw SystemError(call: "unlink", path: child(name), errno: EISDIR)
        }
        throw error
    }

    /// Removes an empty folder. Returns false when it was not there.
    @discardableResult
    package func removeFolder(_ name: String) throws(SystemError) -> Bool {
        if unlinkat(descriptor.raw, name, AT_REMOVEDIR) == 0 { return true }
        let error = SystemError(call: "rmdir", path: child(name), errno: errno)
        if error.isMissing { return false }
        throw error
    }

    /// Whether this process may make and remove files here. Also false on a read-only file system.
    package func requireWritable() throws(SystemError) {
        try checked("access", path) { access(path, R_OK | W_OK | X_OK) }
    }

    // MARK: Durability

    /// Returns when every file made, renamed or removed here before the call is on the device.
    /// Calls that come together share one `fsync`. Blocks the thread.
    package func synchronize() throws(SystemError) { try syncs.run() }

    // MARK: Listing

    /// The names in this directory, page by page.
    package func names() throws(SystemError) -> DirectoryCursor {
        try DirectoryCursor(owning: openAt(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), path: path)
    }

    /// Calls `body` with each name that is valid UTF-8, in no order; it returns false to stop.
    package func forEachFile(_ body: (String) throws -> Bool) throws {
        let cursor = try names()
        while true {
            let page = try cursor.next(limit: 1_000)
            if page.isEmpty { return }
            for bytes in page {
                guard let name = String(validating: bytes, as: UTF8.self) else { continue }
                if try !body(name) { return }
            }
        }
    }

    /// How many bytes the file system has left for a user who is not root.
    package func availableByteCount() throws(SystemError) -> Int64 {
        var raw = statvfs()
        try checked("fstatvfs", path) { fstatvfs(descriptor.raw, &raw) }
        let (blocks, size) = (UInt64(raw.f_bavail), UInt64(raw.f_frsize))
        let (bytes, isTooMany) = blocks.multipliedReportingOverflow(by: size)
        return isTooMany ? .max : Int64(clamping: bytes)
    }

    package func child(_ name: String) -> String { path + "/" + name }

    private func openAt(_ name: String, _ flags: Int32, _ mode: UInt32 = 0) throws(SystemError) -> Int32 {
        try OpenCall.run(child(name)) { openat(descriptor.raw, name, flags, mode_t(mode)) }
    }
}
