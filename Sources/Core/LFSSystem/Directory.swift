import CLinux
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// An open directory. Names are resolved relative to it, so a folder that is renamed or replaced at its path cannot
/// redirect a call. Calls never follow symbolic links.
package final class Directory: Sendable {
    package let path: String
    private let descriptor: Descriptor
    private let syncs: SharedSync
    /// The permission bits that a new file is known to get from `open`, because neither the umask nor the file system
    /// removes them.
    private let keptModeBits = Atomic<UInt32>(0)

    private init(_ descriptor: Descriptor) {
        self.descriptor = descriptor
        self.path = descriptor.path
        self.syncs = SharedSync { () throws(SystemError) in try descriptor.synchronizeFolder() }
    }

    // MARK: Opening

    package static func open(_ path: String) throws(SystemError) -> Directory {
        let flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC
        return Directory(
            Descriptor(owning: try OpenCall.run(path) { openat(AT_FDCWD, path, flags) }, path: path))
    }

    /// Opens the folder. Creates it with mode 0700 if it is missing, and returns when its name is on the device. Its
    /// parent must exist.
    package static func openOrMake(_ path: String) throws(SystemError) -> Directory {
        if mkdir(path, 0o700) != 0 {
            let error = SystemError(call: "mkdir", path: path, errno: errno)
            guard error.isExisting else { throw error }
            return try open(path)
        }
        let made = try open(path).setUp()
        try made.synchronizeParent()
        return made
    }

    /// Opens a subfolder. Creates it with mode 0700 if it is missing, and returns when its name is on the device.
    package func openOrMake(_ name: String) throws(SystemError) -> Directory {
        if mkdirat(descriptor.raw, name, 0o700) != 0 {
            let error = SystemError(call: "mkdir", path: child(name), errno: errno)
            guard error.isExisting else { throw error }
            return try openFolder(name)
        }
        let made = try openFolder(name).setUp()
        try synchronize()
        return made
    }

    /// Synchronizes the folder that contains this one. Does nothing if this process may not read it.
    private func synchronizeParent() throws(SystemError) {
        let flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC
        let parent: Descriptor
        do throws(SystemError) {
            parent = Descriptor(owning: try openAt("..", flags: flags), path: child(".."))
        } catch {
            // Making a folder needs no permission to read its parent, but a sync does.
            guard error.isPermissionDenied else { throw error }
            return
        }
        try parent.synchronizeFolder()
    }

    /// Sets the intended mode, which the umask may have reduced.
    private func setUp() throws(SystemError) -> Directory {
        do throws(SystemError) {
            try descriptor.setMode(0o700)
        } catch {
            // Another user may have replaced the folder after it was created, so only a new file is evidence.
            guard error.errno == EPERM, try isWithoutModes() else { throw error }
        }
        return self
    }

    /// Returns true if the file system stores no permissions, for example exFAT. All its files have the owner and the
    /// mode that its mount options name.
    ///
    /// Creates an empty file in the folder and removes it. The mode of a file that this process has just created
    /// cannot be the choice of another user.
    package func isWithoutModes() throws(SystemError) -> Bool {
        let device = try status().device
        if MissingFeature.modes.isKnown(on: device) { return true }
        let name = "\(FileID.make().text).probe"
        let created = Result { () throws(SystemError) in try create(name).status() }
        try remove(name)
        let permissions = try created.get().permissions
        if permissions & 0o077 != 0 {
            MissingFeature.modes.log(
                SystemError(call: "fchmod", path: child(name), errno: ENOTSUP), device: device)
        }
        return MissingFeature.modes.isKnown(on: device)
    }

    /// Opens a subfolder.
    package func openFolder(_ name: String) throws(SystemError) -> Directory {
        let flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW
        return Directory(Descriptor(owning: try openAt(name, flags: flags), path: child(name)))
    }

    // MARK: Files

    /// Creates a file and opens it for reading and writing. Throws if the name exists.
    package func create(_ name: String, mode: UInt32 = 0o600) throws(SystemError) -> Descriptor {
        let flags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW
        let file = Descriptor(owning: try openAt(name, flags: flags, mode: mode), path: child(name))
        try setMode(mode, ofNew: file)
        return file
    }

    /// Sets the mode of a file that this process has just created. Makes no call if `open` is known to set it.
    ///
    /// The first file in the directory always gets the call, because its failure shows that the file system stores no
    /// modes.
    private func setMode(_ mode: UInt32, ofNew file: Descriptor) throws(SystemError) {
        if mode & ~keptModeBits.load(ordering: .relaxed) == 0 { return }
        let status = try file.status()
        try file.setMode(mode, isNew: true)
        if status.permissions == mode, !MissingFeature.modes.isKnown(on: status.device) {
            keptModeBits.bitwiseOr(mode, ordering: .relaxed)
        }
    }

    package func openForReading(_ name: String) throws(SystemError) -> Descriptor {
        let flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK
        return Descriptor(owning: try openAt(name, flags: flags), path: child(name))
    }

    /// Opens a file for locking or for reading and writing, and creates it if it is missing.
    ///
    /// An existing entry of any type is opened, except a symbolic link. The caller must check its type.
    package func openOrCreate(_ name: String) throws(SystemError) -> Descriptor {
        // O_NONBLOCK: opening a named pipe would block.
        let flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK
        while true {
            do {
                return Descriptor(owning: try openAt(name, flags: flags), path: child(name))
            } catch let error where error.isMissing {}
            do {
                return try create(name)
            } catch let error where error.isExisting {}
        }
    }

    /// Returns the status of the entry with this name, or nil if the name does not exist.
    package func status(of name: String) throws(SystemError) -> FileStatus? {
        var raw = stat()
        if fstatat(descriptor.raw, name, &raw, AT_SYMLINK_NOFOLLOW) == 0 { return FileStatus(raw) }
        let error = SystemError(call: "stat", path: child(name), errno: errno)
        if error.isMissing { return nil }
        throw error
    }

    /// Returns true if the entry with this name is the file with this status. With it a caller detects that an open
    /// file was renamed, replaced or removed. Both must be on one file system, because only the inodes are compared.
    package func contains(_ file: FileStatus, named name: String) throws(SystemError) -> Bool {
        try status(of: name)?.inode == file.inode
    }

    /// Returns the status of this directory. With it a caller detects that another folder has taken its place.
    package func status() throws(SystemError) -> FileStatus { try descriptor.status() }

    /// Atomically moves a file within one file system, and replaces an existing file with the new name.
    package func rename(_ name: String, to directory: Directory, as newName: String) throws(SystemError) {
        try checked("rename", child(name)) {
            renameat(descriptor.raw, name, directory.descriptor.raw, newName)
        }
    }

    /// Moves a file like ``rename(_:to:as:)``, but throws `EEXIST` if the new name exists.
    package func renameExclusively(_ name: String, to directory: Directory, as newName: String) throws(SystemError) {
        // One call, so that neither another process nor a crash finds the file under both names.
        let target = directory.descriptor.raw
        do {
            #if canImport(Darwin)
            try checked("renameatx_np", directory.child(newName)) {
                renameatx_np(descriptor.raw, name, target, newName, UInt32(RENAME_EXCL))
            }
            #else
            try checked("renameat2", directory.child(newName)) {
                lfs_rename_exclusively(descriptor.raw, name, target, newName)
            }
            #endif
        } catch let error where error.isWithoutExclusiveRename {
            do throws(SystemError) {
                try linkExclusively(name, to: directory, as: newName)
            } catch let failure where failure.isUnsupported {
                // The first error names the cause, such as a folder that refuses changes.
                throw error
            }
        }
    }

    /// Implements ``renameExclusively(_:to:as:)`` with link(2), which fails on every POSIX system if the name exists.
    func linkExclusively(_ name: String, to directory: Directory, as newName: String) throws(SystemError) {
        try checked("link", directory.child(newName)) {
            linkat(descriptor.raw, name, directory.descriptor.raw, newName, 0)
        }
        try checked("unlink", child(name)) { unlinkat(descriptor.raw, name, 0) }
    }

    /// Moves a file from a caller's path into this directory, within one file system. Replaces an existing file with
    /// the name.
    package func take(_ path: String, as name: String) throws(SystemError) {
        try checked("rename", path) { renameat(AT_FDCWD, path, descriptor.raw, name) }
    }

    /// Removes a file. Returns false if it did not exist.
    @discardableResult
    package func remove(_ name: String) throws(SystemError) -> Bool {
        if unlinkat(descriptor.raw, name, 0) == 0 { return true }
        let error = SystemError(call: "unlink", path: child(name), errno: errno)
        if error.isMissing { return false }
        // For a folder, Apple platforms return EPERM, as if the caller lacked permission. Linux returns EISDIR.
        if error.errno == EPERM, try status(of: name)?.isDirectory == true {
            throw SystemError(call: "unlink", path: child(name), errno: EISDIR)
        }
        throw error
    }

    /// Removes an empty folder. Returns false if it did not exist.
    @discardableResult
    package func removeFolder(_ name: String) throws(SystemError) -> Bool {
        if unlinkat(descriptor.raw, name, AT_REMOVEDIR) == 0 { return true }
        let error = SystemError(call: "rmdir", path: child(name), errno: errno)
        if error.isMissing { return false }
        throw error
    }

    /// Throws if this process cannot create and remove files in the directory, for example on a read-only file system.
    package func requireWritable() throws(SystemError) {
        try checked("access", path) { access(path, R_OK | W_OK | X_OK) }
    }

    // MARK: Durability

    /// Returns when the device has every file creation, rename and removal made in this directory before the call.
    /// Concurrent calls share one `fsync`. Blocks the thread.
    package func synchronize() throws(SystemError) { try syncs.run() }

    // MARK: Listing

    /// Returns a cursor that reads the names in this directory page by page.
    package func names() throws(SystemError) -> DirectoryCursor {
        try DirectoryCursor(owning: openAt(".", flags: O_RDONLY | O_DIRECTORY | O_CLOEXEC), path: path)
    }

    /// Calls `body` with each name that is valid UTF-8, in no particular order. The body returns false to stop.
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

    /// Returns the number of bytes that are available for files of a user other than root. On iOS and macOS it includes
    /// what the system removes to make room.
    package func availableByteCount() throws(SystemError) -> Int64 {
        var raw = statvfs()
        try checked("fstatvfs", path) { fstatvfs(descriptor.raw, &raw) }
        let (blocks, size) = (UInt64(raw.f_bavail), UInt64(raw.f_frsize))
        let (bytes, isTooMany) = blocks.multipliedReportingOverflow(by: size)
        let free = isTooMany ? .max : Int64(clamping: bytes)
        return AvailableSpace.byteCount(free: free, important: AvailableSpace.important(at: path))
    }

    package func child(_ name: String) -> String { path + "/" + name }

    /// Runs a call on the descriptor of the folder itself.
    func withDescriptor(_ body: (Descriptor) throws(SystemError) -> Void) throws(SystemError) { try body(descriptor) }

    private func openAt(_ name: String, flags: Int32, mode: UInt32 = 0) throws(SystemError) -> Int32 {
        try OpenCall.run(child(name), flags: flags) { openat(descriptor.raw, name, $0, mode_t(mode)) }
    }
}
