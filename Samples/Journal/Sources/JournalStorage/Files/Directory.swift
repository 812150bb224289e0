import Foundation

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// An open folder and its direct contents. Links below it are not followed, so that no path leads outside.
final class Directory: Sendable {
    private let handle: OpenFile
    private var descriptor: Int32 { handle.descriptor }

    private init(_ handle: OpenFile) { self.handle = handle }

    /// Opens a folder. Links in its path are followed, since the path is the app's own. Nil if the folder is missing.
    static func open(_ path: String) throws -> Directory? {
        try found { openExisting(AT_FDCWD, name: path, flags: O_DIRECTORY) }.map(Directory.init)
    }

    /// Opens a folder as ``open(_:)`` does. A missing folder and its missing parents are created, and are then durable.
    static func make(_ path: String) throws -> Directory {
        if let folder = try open(path) { return folder }
        let parent = (path as NSString).deletingLastPathComponent
        guard parent != path, path != "." else { throw SystemFailure.last }
        return try make(parent.isEmpty ? "." : parent).makeFolder((path as NSString).lastPathComponent)
    }

    /// Opens a folder in this folder. Nil if it is missing.
    func folder(_ name: String) throws -> Directory? {
        try Self.found { openExisting(descriptor, name: name, flags: O_DIRECTORY | O_NOFOLLOW) }.map(Directory.init)
    }

    /// Opens a folder in this folder. A missing folder is created.
    func makeFolder(_ name: String) throws -> Directory {
        if let folder = try folder(name) { return folder }
        if mkdirat(descriptor, name, 0o700) != 0, errno != EEXIST { throw SystemFailure.last }
        try sync()
        guard let folder = try folder(name) else { throw SystemFailure.last }
        return folder
    }

    /// Returns nil if a call fails because a name is missing.
    private static func found(_ call: () -> Int32) throws -> OpenFile? {
        do {
            return OpenFile(try checked(call))
        } catch let error as SystemFailure where error.isMissing {
            return nil
        }
    }

    /// Returns the names of all entries except `.` and `..`.
    func names() throws -> [String] {
        let again = try checked { openExisting(descriptor, name: ".", flags: O_DIRECTORY) }
        guard let stream = fdopendir(again) else {
            _ = close(again)
            throw SystemFailure.last
        }
        defer { _ = closedir(stream) }
        var names: [String] = []
        while true {
            errno = 0
            guard let entry = readdir(stream) else { break }
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(validatingCString: $0) }
            }
            // A name that is not valid UTF-8 was not written by a journal.
            if let name, name != ".", name != ".." { names.append(name) }
        }
        if errno != 0 { throw SystemFailure.last }
        return names
    }

    /// Opens a regular file for reading. Nil if it is missing.
    func file(_ name: String) throws -> OpenFile? {
        // Without O_NONBLOCK, opening a pipe would wait for a writer.
        let file = try Self.found { openExisting(descriptor, name: name, flags: O_NOFOLLOW | O_NONBLOCK) }
        if let file, try file.status().st_mode & S_IFMT != S_IFREG { throw SystemFailure.notAFile }
        return file
    }

    /// Returns true if a regular file has the name.
    func hasFile(_ name: String) -> Bool {
        var status = stat()
        return fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && status.st_mode & S_IFMT == S_IFREG
    }

    /// Creates a new file.
    func makeFile(_ name: String) throws -> OpenFile {
        OpenFile(try checked { openNew(descriptor, name: name) })
    }

    /// Moves a file to a name in this folder or in another folder of the same file system. A file with that name is
    /// replaced. Neither folder is synced.
    func rename(_ name: String, to other: Directory, as newName: String) throws {
        try checked { renameat(descriptor, name, other.descriptor, newName) }
    }

    /// Creates a hard link to a file in another folder.
    ///
    /// - Returns: false if the file system does not support hard links.
    func link(_ name: String, to other: Directory) throws -> Bool {
        if linkat(descriptor, name, other.descriptor, name, 0) == 0 { return true }
        guard [EPERM, EOPNOTSUPP, ENOSYS, EMLINK].contains(errno) else { throw SystemFailure.last }
        return false
    }

    /// Removes a file. A missing file is not an error.
    func remove(_ name: String) throws {
        if unlinkat(descriptor, name, 0) != 0, errno != ENOENT { throw SystemFailure.last }
    }

    /// Makes added and removed names durable.
    ///
    /// Some network shares cannot sync a folder. A device that fails returns `EIO`.
    func sync() throws {
        guard fsync(descriptor) != 0 else { return }
        let isUnsupported = [EINVAL, ENOTSUP, EOPNOTSUPP, ENOTTY].contains(errno)
        if !isUnsupported { throw SystemFailure.last }
    }
}

/// Calls `openat`. That function is variadic, so that Swift cannot pass it to a closure in both forms.
private func openExisting(_ descriptor: Int32, name: String, flags: Int32) -> Int32 {
    openat(descriptor, name, O_RDONLY | O_CLOEXEC | flags)
}

private func openNew(_ descriptor: Int32, name: String) -> Int32 {
    openat(descriptor, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
}
