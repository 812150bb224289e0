import Foundation

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// An open folder, and what is right below it. No link is followed from here on, so nothing leads outside.
final class Directory: Sendable {
    private let handle: OpenFile
    private var descriptor: Int32 { handle.descriptor }

    private init(_ handle: OpenFile) { self.handle = handle }

    /// Opens a folder. In its path, which is the app's own, links are followed.
    ///
    /// - Parameter makes: whether it is made if it is missing, and those above it. They are durable then.
    /// - Returns: nil when it is missing.
    static func open(_ path: String, makes: Bool) throws -> Directory? {
        do {
            return Directory(OpenFile(try checked { openFolder(AT_FDCWD, path, O_RDONLY | O_DIRECTORY) }))
        } catch let error as SystemFailure where error.isMissing {
            guard makes else { return nil }
            let parent = (path as NSString).deletingLastPathComponent
            guard parent != path, let above = try open(parent.isEmpty ? "." : parent, makes: true) else { throw error }
            return try above.folder((path as NSString).lastPathComponent, makes: true)
        }
    }

    /// The folder of that name in this one.
    ///
    /// - Returns: nil when there is none and none is to be made.
    func folder(_ name: String, makes: Bool) throws -> Directory? {
        let flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW
        do {
            return Directory(OpenFile(try checked { openFolder(descriptor, name, flags) }))
        } catch let error as SystemFailure where error.isMissing {
            guard makes else { return nil }
        }
        if mkdirat(descriptor, name, 0o700) != 0, errno != EEXIST { throw SystemFailure.last }
        try sync()
        return Directory(OpenFile(try checked { openFolder(descriptor, name, flags) }))
    }

    /// The names of all that is in it, without `.` and `..`.
    func names() throws -> [String] {
        let again = try checked { openFolder(descriptor, ".", O_RDONLY | O_DIRECTORY) }
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
            // A name that is no text is none of ours.
            if let name, name != ".", name != ".." { names.append(name) }
        }
        if errno != 0 { throw SystemFailure.last }
        return names
    }

    /// Opens a regular file to read it.
    ///
    /// - Returns: nil when it is missing.
    func file(_ name: String) throws -> OpenFile? {
        do {
            // Else opening a pipe would wait for who writes into it.
            let flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK
            let file = OpenFile(try checked { openFolder(descriptor, name, flags) })
            guard try file.isRegular else { throw SystemFailure.notAFile }
            return file
        } catch let error as SystemFailure where error.isMissing {
            return nil
        }
    }

    /// Whether a regular file of that name is there.
    func hasFile(_ name: String) -> Bool {
        var status = stat()
        return fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && status.st_mode & S_IFMT == S_IFREG
    }

    /// Makes a new file.
    func makeFile(_ name: String) throws -> OpenFile {
        OpenFile(try checked { openNew(descriptor, name) })
    }

    /// Gives a file another name, here or in another folder of the same file system, in the place of one that has it.
    /// Neither folder is synced.
    func rename(_ name: String, to other: Directory, as newName: String) throws {
        try checked { renameat(descriptor, name, other.descriptor, newName) }
    }

    /// Gives a file a second name in another folder.
    ///
    /// - Returns: false where the file system knows no second names.
    func link(_ name: String, to other: Directory) throws -> Bool {
        if linkat(descriptor, name, other.descriptor, name, 0) == 0 { return true }
        guard [EPERM, EOPNOTSUPP, ENOSYS, EMLINK].contains(errno) else { throw SystemFailure.last }
        return false
    }

    /// Takes a file's name away. One that is missing is fine.
    func remove(_ name: String) throws {
        if unlinkat(descriptor, name, 0) != 0, errno != ENOENT { throw SystemFailure.last }
    }

    /// Makes names durable that came and went.
    ///
    /// Some network shares cannot sync a folder. A device that fails says `EIO`.
    func sync() throws {
        guard fsync(descriptor) != 0 else { return }
        let isUnsupported = [EINVAL, ENOTSUP, EOPNOTSUPP, ENOTTY].contains(errno)
        if !isUnsupported { throw SystemFailure.last }
    }
}

/// `openat`, which takes any number of arguments, and so is no function for a closure to name twice.
private func openFolder(_ descriptor: Int32, _ name: String, _ flags: Int32) -> Int32 {
    openat(descriptor, name, flags | O_CLOEXEC)
}

private func openNew(_ descriptor: Int32, _ name: String) -> Int32 {
    openat(descriptor, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
}
