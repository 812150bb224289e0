import Foundation

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The database's file, which its owner alone may read: it holds the paths of everything that was pushed.
enum PrivateFile {
    private static let mode: mode_t = 0o600

    /// Makes an empty file with mode 0600 if there is none, and takes the others' rights from one that is there.
    ///
    /// SQLite takes an empty file for an empty database, and gives its WAL and its index the mode of the database.
    /// - Throws: ``UploaderError`` when it cannot be made.
    static func make(_ path: String) throws {
        try requireFolder(of: path)
        let number = systemOpen(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC)
        if number >= 0 { return _ = close(number) }
        guard errno == EEXIST else {
            throw UploaderError("The database \(path) cannot be made: \(String(cString: strerror(errno)))")
        }
        // Links are resolved as SQLite resolves them: what it keeps beside the database is beside the file it found.
        let file = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
        for suffix in ["", "-wal", "-shm", "-journal"] { narrow(file + suffix) }
    }

    /// A file of somebody else keeps its mode: it is not ours to change.
    private static func narrow(_ path: String) {
        let number = systemOpen(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
        guard number >= 0 else { return }
        defer { close(number) }
        var status = stat()
        guard fstat(number, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_mode & 0o077 != 0,
            status.st_uid == geteuid()
        else { return }
        if fchmod(number, status.st_mode & 0o700) != 0 {
            Console.message("uploader: others may read \(path), and its mode cannot be changed: chmod 600 it.")
        }
    }

    private static func requireFolder(of path: String) throws {
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: folder, isDirectory: &isFolder), isFolder.boolValue else {
            throw UploaderError(
                "The folder \(folder) for the database does not exist. Make it first: mkdir -p '\(folder)'")
        }
    }

    private static func systemOpen(_ path: String, _ flags: Int32) -> Int32 { openat(AT_FDCWD, path, flags, mode) }
}
