import Crypto
import Foundation
import LFS

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The file that one document is written to. Names come from a database, so they are not trusted: they lead to no
/// place outside of the folder, and links on the way are refused.
struct RestoreTarget: Sendable {
    let path: FilePath
    private let folders: [FilePath]
    private let part: FilePath
    /// When the content of the original was changed last; nil when nobody knows.
    private let modified: timespec?

    /// - Parameter isAmbiguous: whether another document has the same title; then the file gets its id as well.
    /// - Throws: ``UploaderError`` for a name that leads elsewhere.
    init(_ attached: AttachedDocument, in folder: String, isAmbiguous: Bool) throws {
        let depth = FilePath(attached.document.title).components.count
        var names = Array(attached.document.path.components.suffix(max(depth, 1)))
        if isAmbiguous, let last = names.popLast() { names.append(Array("\(attached.file.id)-".utf8) + last) }
        var current = FilePath(folder).absolute(from: FileManager.default.currentDirectoryPath)
        var folders: [FilePath] = []
        for (index, name) in names.enumerated() {
            guard !name.isEmpty, name != [0x2E], name != [0x2E, 0x2E], !name.contains(0) else {
                throw UploaderError("its path in the database is not one that can be written")
            }
            current = current.appending(name)
            if index < names.count - 1 { folders.append(current) }
        }
        guard !names.isEmpty else { throw UploaderError("its path in the database is empty") }
        path = current
        modified = attached.document.modified
        self.folders = folders
        // Of two documents with the same bytes in one folder each has its own.
        let part = PartName.of(names.last ?? [], attached.file.id)
        self.part = FilePath(bytes: current.bytes.dropLast(names.last?.count ?? 0) + Array(part.utf8))
    }

    /// Whether the file is there with the recorded content.
    ///
    /// - Throws: ``UploaderError`` when something else is there.
    func isThere(_ file: FileData, onBytes: (Int) -> Void) throws -> Bool {
        guard let existing = try openExisting() else { return false }
        guard try existing.seekToEnd() == UInt64(clamping: file.byteCount) else {
            throw UploaderError("\(path) is there with other content and is not overwritten")
        }
        try existing.seek(toOffset: 0)
        var hash = SHA256()
        while let chunk = try existing.read(upToCount: 1 << 18), !chunk.isEmpty {
            hash.update(data: chunk)
            onBytes(chunk.count)
        }
        guard try existing.offset() == UInt64(clamping: file.byteCount), hash.finalize().hex == file.sha256 else {
            throw UploaderError("\(path) is there with other content and is not overwritten")
        }
        return true
    }

    /// Writes the file, which gets its name when its bytes are found to be the recorded ones.
    ///
    /// - Throws: ``UploaderError`` when they are not, or when the name is taken.
    func write(_ contents: FileContents, of recorded: FileData, onBytes: (Int) -> Void) async throws {
        try makeFolders()
        let file = try beginPart()
        do {
            var hash = SHA256()
            for try await chunk in contents {
                hash.update(data: chunk)
                try write(chunk, to: file)
                onBytes(chunk.count)
            }
            guard try file.offset() == UInt64(clamping: recorded.byteCount), hash.finalize().hex == recorded.sha256
            else {
                throw UploaderError("its copy on this device is damaged; 'verify --content --repair' mends it")
            }
            try setTime(file)
            guard fsync(file.fileDescriptor) == 0 else { throw failure() }
            guard FreeName.take(path, for: part) else { throw failure() }
        } catch {
            _ = part.withCString { unlink($0) }
            throw error
        }
    }

    /// Gives the file the time of the original, which photo programs and later pushes go by.
    private func setTime(_ file: FileHandle) throws {
        var status = stat()
        guard let modified, fstat(file.fileDescriptor, &status) == 0 else { return }
        #if canImport(Darwin)
        let times = [status.st_atimespec, modified]
        #else
        let times = [status.st_atim, modified]
        #endif
        // Some network shares keep no times, or not these, and no bytes are lost by that.
        guard futimens(file.fileDescriptor, times) == 0 || errno != EIO else { throw failure() }
    }

    /// The file that the bytes go into until they are known to be right, locked, so that no other pull takes it for one
    /// that was left behind.
    private func beginPart() throws -> FileHandle {
        try clearPart()
        let file = try open(part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW)
        guard flock(file.fileDescriptor, LOCK_EX | LOCK_NB) == 0 else { throw Self.isUnderWay(path) }
        // Until the lock was there, another pull may have taken the file for one that was left behind.
        var (named, opened) = (stat(), stat())
        guard fstat(file.fileDescriptor, &opened) == 0, part.withCString({ lstat($0, &named) }) == 0,
            named.st_ino == opened.st_ino
        else { throw Self.isUnderWay(path) }
        return file
    }

    /// Removes what a pull has left that was killed, also right before its last step, when the file has its name
    /// already.
    ///
    /// - Throws: ``UploaderError`` while another pull writes it.
    func clearPart() throws {
        let number = part.withCString { openat(AT_FDCWD, $0, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) }
        // Whatever else stands there is not ours, and making the file will say so.
        guard number >= 0 else { return }
        defer { close(number) }
        var status = stat()
        guard fstat(number, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid() else {
            return
        }
        guard flock(number, LOCK_EX | LOCK_NB) == 0 else { throw Self.isUnderWay(path) }
        _ = part.withCString { unlink($0) }
    }

    private static func isUnderWay(_ path: FilePath) -> UploaderError {
        UploaderError("\(path) is being written by another pull")
    }

    private func write(_ chunk: Data, to file: FileHandle) throws {
        guard chunk.withUnsafeBytes({ systemWriteAll(file.fileDescriptor, $0) }) else { throw failure() }
    }

    /// Makes the folder that everything is written into, with those above it.
    static func makeFolder(_ path: String) throws {
        let path = FilePath(path).absolute(from: FileManager.default.currentDirectoryPath)
        var current = FilePath("/")
        for name in path.components {
            current = current.appending(name)
            if current.withCString({ mkdir($0, 0o777) }) == 0 { continue }
            let reason = errno
            var status = stat()
            // What is there already may be a link to a folder, or one that may not be changed.
            if current.withCString({ stat($0, &status) }) == 0 {
                if status.st_mode & S_IFMT == S_IFDIR { continue }
                throw UploaderError("--output has to be a folder, and \(current) is none.")
            }
            throw UploaderError("The folder \(current) for the output cannot be made: \(words(reason))")
        }
    }

    private func makeFolders() throws {
        for folder in folders {
            if folder.withCString({ mkdir($0, 0o777) }) == 0 { continue }
            guard errno == EEXIST else { throw failure() }
            var status = stat()
            guard folder.withCString({ lstat($0, &status) }) == 0, status.st_mode & S_IFMT == S_IFDIR else {
                throw UploaderError("\(folder) is in the way: it is not a folder")
            }
        }
    }

    private func openExisting() throws -> FileHandle? {
        var status = stat()
        guard path.withCString({ lstat($0, &status) }) == 0 else {
            if errno == ENOENT { return nil }
            throw failure()
        }
        guard status.st_mode & S_IFMT == S_IFREG else { throw UploaderError("\(path) is in the way: it is not a file") }
        return try open(path, O_RDONLY | O_NOFOLLOW)
    }

    private func open(_ path: FilePath, _ flags: Int32) throws -> FileHandle {
        let number = path.withCString { openat(AT_FDCWD, $0, flags | O_CLOEXEC, 0o666) }
        guard number >= 0 else { throw failure() }
        return FileHandle(fileDescriptor: number, closeOnDealloc: true)
    }

    private func failure() -> UploaderError { UploaderError("\(path): \(Self.words(errno))") }

    private static func words(_ number: Int32) -> String {
        switch number {
        case ENOSPC, EDQUOT: "the disk is full; free some space and pull again"
        case EFBIG: "the file is too large for this file system"
        default: String(cString: strerror(number))
        }
    }
}
