import Crypto
package import Foundation
import LFS
import LFSBackup

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// An original to be removed because its bytes are on the storage.
package struct Original: Sendable {
    private let path: FilePath
    /// A temporary name in the same folder, for the last check.
    private let aside: [UInt8]

    /// - Parameter document: the document's id, which makes the temporary name unique.
    package init(path: FilePath, document: String) {
        self.path = path
        aside = Array(".\(FilePath(document).lastComponent.description).moved".utf8)
    }

    /// Removes the original, if it is the file that was read and no process is writing to it.
    ///
    /// It is first renamed and then checked again, so that a file that takes its name in the meantime is not affected.
    /// If the process is killed in between, ``giveBack()`` must be called.
    /// - Parameters:
    ///   - stamp: the stamp at the time of the read.
    ///   - sha256: the SHA-256 of the uploaded bytes.
    ///   - readAt: the time of the read, or an earlier one.
    ///   - linked: the stamps of files with several links. This file is added if it has more links.
    /// - Throws: ``UploaderError`` with the reason why it stays.
    package func remove(_ stamp: String, sha256: String, readAt: Date, linked: inout LinkedStamps) throws {
        let (folder, name) = try place()
        let file = try Handle(
            Self.withName(name) {
                openat(folder.number, $0, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
            })
        guard !file.isBeingWritten else { throw UploaderError("it stays: another program has it open for writing") }
        guard let now = AssetVersion(ofOpenFile: file.number), linked.asRead(now.text) == stamp else {
            throw Self.changed
        }
        if try file.lastChange().addingTimeInterval(Self.longestTick) > readAt {
            let isRead = try file.sha256() == sha256
            // A program may have written to it during the read.
            guard isRead, AssetVersion(ofOpenFile: file.number)?.text == now.text, !file.isBeingWritten else {
                throw Self.changed
            }
        }
        guard !exists(aside, in: folder) else {
            throw UploaderError("it stays: another version of it is \(FilePath(bytes: aside)) in its folder")
        }
        try Self.check(
            Self.withName(name) { from in
                Self.withName(aside) { renameat(folder.number, from, folder.number, $0) }
            })
        guard try file.isSame(as: aside, in: folder) else {
            // Another file took the name in between.
            _ = try giveBack()
            throw Self.changed
        }
        try Self.check(Self.withName(aside) { unlinkat(folder.number, $0, 0) })
        linked.note(now, since: AssetVersion(ofOpenFile: file.number))
    }

    /// Restores the name of a file that was about to be removed.
    ///
    /// - Returns: true if there is an original now. Nil while its folder is missing, as on a disk that is not mounted.
    /// - Throws: ``UploaderError`` if another file has the name, or if the folder cannot be opened.
    package func giveBack() throws -> Bool? {
        if let folder = path.folder, folder.isGone { return nil }
        let (folder, name) = try place()
        guard exists(aside, in: folder) else { return exists(name, in: folder) }
        let linked = Self.withName(aside) { from in
            Self.withName(name) { linkat(folder.number, from, folder.number, $0, 0) }
        }
        if linked == 0 {
            try Self.check(Self.withName(aside) { unlinkat(folder.number, $0, 0) })
            return true
        }
        // The file system has no hard links, or the name exists.
        guard !exists(name, in: folder) else {
            throw UploaderError("it was replaced in the move, and another version of it is \(FilePath(bytes: aside))")
        }
        try Self.check(
            Self.withName(aside) { from in
                Self.withName(name) { renameat(folder.number, from, folder.number, $0) }
            })
        return true
    }

    /// Returns the folder, and the name in it.
    private func place() throws -> (Handle, [UInt8]) {
        guard let name = path.components.last else { throw UploaderError("it is not a file") }
        let parent = FilePath(bytes: Array(path.bytes.dropLast(name.count)))
        return (try Handle(parent.withCString { open($0, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }), name)
    }

    private func exists(_ name: [UInt8], in folder: Handle) -> Bool {
        var status = stat()
        return Self.withName(name) { fstatat(folder.number, $0, &status, AT_SYMLINK_NOFOLLOW) } == 0
    }

    /// The longest step of a file system's time stamps, that of FAT, in seconds. A file that is written twice within a
    /// step can have one stamp with two contents.
    private static let longestTick = 2.5

    private static let changed = UploaderError("it has changed since it was read, and stays")

    /// - Throws: ``UploaderError`` with the system's message.
    private static func check(_ result: Int32) throws {
        if result != 0 { throw UploaderError("it stays: \(String(cString: strerror(errno)))") }
    }

    private static func withName(_ name: [UInt8], _ body: (UnsafePointer<CChar>) -> Int32) -> Int32 {
        FilePath(bytes: name).withCString(body)
    }

    /// An open file or folder, which is closed with the last reference.
    private final class Handle {
        let number: Int32

        init(_ number: Int32) throws {
            let code = errno
            guard number >= 0 else {
                throw UploaderError(
                    code == ELOOP ? "it is a symbolic link, and stays" : "it stays: \(String(cString: strerror(code)))")
            }
            self.number = number
        }

        deinit { close(number) }

        /// True if another program has the file open for writing. False if the system cannot determine that.
        ///
        /// While this object exists, a process that opens the file for writing is blocked.
        var isBeingWritten: Bool {
            #if os(Linux)
            // The system grants a read lease only if no process has the file open for writing. Source: fcntl(2).
            return fcntl(number, 1_024, Int32(F_RDLCK)) != 0 && errno == EAGAIN
            #else
            return false
            #endif
        }

        /// Returns the time of the last change of content or metadata.
        func lastChange() throws -> Date {
            var status = stat()
            try check(fstat(number, &status))
            #if canImport(Darwin)
            let times = [status.st_mtimespec, status.st_ctimespec]
            #else
            let times = [status.st_mtim, status.st_ctim]
            #endif
            let seconds = times.map { Double($0.tv_sec) + Double($0.tv_nsec) / 1e9 }
            return Date(timeIntervalSince1970: seconds.reduce(0, max))
        }

        /// Reads the file, and returns the SHA-256 of its bytes in lowercase hex.
        func sha256() throws -> String {
            var hash = SHA256()
            var buffer = [UInt8](repeating: 0, count: 1 << 18)
            var offset = off_t(0)
            while true {
                let count = buffer.withUnsafeMutableBytes { pread(number, $0.baseAddress, $0.count, offset) }
                if count == 0 { return hash.finalize().hex }
                try check(count < 0 ? -1 : 0)
                hash.update(data: buffer.prefix(count))
                offset += off_t(count)
            }
        }

        /// Returns true if a name refers to this file.
        func isSame(as name: [UInt8], in folder: Handle) throws -> Bool {
            var (mine, other) = (stat(), stat())
            try check(fstat(number, &mine))
            try check(withName(name) { fstatat(folder.number, $0, &other, AT_SYMLINK_NOFOLLOW) })
            return mine.st_dev == other.st_dev && mine.st_ino == other.st_ino
        }
    }
}
