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
        self.folders = folders
        part = FilePath(bytes: current.bytes.dropLast(names.last?.count ?? 0) + Array(".\(attached.file.id).part".utf8))
    }

    /// Whether the file is there with the recorded content.
    ///
    /// - Throws: ``UploaderError`` when something else is there.
    func isThere(_ file: FileData) throws -> Bool {
        guard let existing = try openExisting() else { return false }
        var hash = SHA256()
        while let chunk = try existing.read(upToCount: 1 << 18), !chunk.isEmpty { hash.update(data: chunk) }
        guard try existing.offset() == UInt64(file.byteCount), Self.hex(hash) == file.sha256 else {
            throw UploaderError("\(path) is there with other content and is not overwritten")
        }
        return true
    }

    /// Writes the file, which gets its name when its bytes are found to be the recorded ones.
    ///
    /// - Throws: ``UploaderError`` when they are not, or when the name is taken.
    func write(_ contents: FileContents, of recorded: FileData) async throws {
        try makeFolders()
        _ = part.withCString { unlink($0) }
        let file = try open(part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW)
        do {
            var hash = SHA256()
            for try await chunk in contents {
                hash.update(data: chunk)
                try file.write(contentsOf: chunk)
            }
            guard try file.offset() == UInt64(recorded.byteCount), Self.hex(hash) == recorded.sha256 else {
                throw UploaderError("its copy on this device is damaged; 'verify --content --repair' mends it")
            }
            try file.synchronize()
            try takeName()
        } catch {
            _ = part.withCString { unlink($0) }
            throw error
        }
    }

    /// Gives the file its name, and fails if it was taken meanwhile, where a plain rename would replace what has it.
    private func takeName() throws {
        if part.withCString({ from in path.withCString { link(from, $0) } }) == 0 {
            _ = part.withCString { unlink($0) }
            return
        }
        // Cards and some network shares have no hard links.
        guard [EPERM, ENOTSUP, EOPNOTSUPP, ENOSYS].contains(errno) else { throw failure() }
        try takeNameWithoutLink()
    }

    func takeNameWithoutLink() throws {
        _ = try open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW)
        // The name is ours now, and what is replaced is the empty file that holds it.
        guard part.withCString({ from in path.withCString { rename(from, $0) } }) == 0 else {
            let failure = failure()
            _ = path.withCString { unlink($0) }
            throw failure
        }
    }

    private static func hex(_ hash: SHA256) -> String {
        hash.finalize().map { byte in
            let digits = String(byte, radix: 16)
            return byte < 16 ? "0\(digits)" : digits
        }.joined()
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

    private func failure() -> UploaderError { UploaderError("\(path): \(String(cString: strerror(errno)))") }
}
