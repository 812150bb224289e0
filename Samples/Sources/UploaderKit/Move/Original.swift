import Foundation
import LFS
import LFSBackup

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// An original that goes because its bytes are on the storage.
package struct Original: Sendable {
    private let path: FilePath
    /// The name that it has while it is looked at for the last time, in the same folder.
    private let aside: [UInt8]

    /// - Parameter document: the document's id, which makes the other name one of its own.
    package init(path: FilePath, document: String) {
        self.path = path
        aside = Array(".\(FilePath(document).lastComponent.description).moved".utf8)
    }

    /// Removes it, if it is the file that was read, and nobody is writing to it.
    ///
    /// It gets another name first, and is looked at once more: a file that takes its name meanwhile is left alone.
    /// After a kill between the two ``giveBack()`` has to be called.
    /// - Parameters:
    ///   - stamp: what it looked like when it was read.
    ///   - linked: files that had other names, and gets this one if it has more.
    /// - Throws: ``UploaderError`` with the reason why it stays.
    package func remove(_ stamp: String, _ linked: inout LinkedStamps) throws {
        let (folder, name) = try place()
        let file = try Handle(
            Self.withName(name) { openat(folder.number, $0, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) })
        guard !file.isBeingWritten else { throw UploaderError("another program has it open for writing, and it stays") }
        guard let now = AssetStamp(ofOpenFile: file.number), linked.asRead(now.text) == stamp else {
            throw Self.changed
        }
        guard !exists(aside, in: folder) else {
            throw UploaderError("it stays: another version of it is \(FilePath(bytes: aside)) in its folder")
        }
        try Self.check(
            Self.withName(name) { from in
                Self.withName(aside) { renameat(folder.number, from, folder.number, $0) }
            })
        guard try file.isSame(as: aside, in: folder) else {
            // Another one has come in between.
            _ = try giveBack()
            throw Self.changed
        }
        try Self.check(Self.withName(aside) { unlinkat(folder.number, $0, 0) })
        linked.note(now, since: AssetStamp(ofOpenFile: file.number))
    }

    /// Gives a file its name back that was about to be removed.
    ///
    /// - Returns: whether there is an original now.
    /// - Throws: ``UploaderError`` when another file has the name.
    package func giveBack() throws -> Bool {
        let (folder, name): (Handle, [UInt8])
        // Without the folder there is nothing in it.
        do { (folder, name) = try place() } catch is UploaderError { return false }
        guard exists(aside, in: folder) else { return exists(name, in: folder) }
        let linked = Self.withName(aside) { from in
            Self.withName(name) { linkat(folder.number, from, folder.number, $0, 0) }
        }
        if linked == 0 {
            try Self.check(Self.withName(aside) { unlinkat(folder.number, $0, 0) })
            return true
        }
        // A file system without links, or the name is taken.
        guard !exists(name, in: folder) else {
            throw UploaderError("it was replaced meanwhile, and another version of it is \(FilePath(bytes: aside))")
        }
        try Self.check(
            Self.withName(aside) { from in
                Self.withName(name) { renameat(folder.number, from, folder.number, $0) }
            })
        return true
    }

    /// The folder and the name in it.
    private func place() throws -> (Handle, [UInt8]) {
        guard let name = path.components.last else { throw UploaderError("it is no file") }
        let parent = FilePath(bytes: Array(path.bytes.dropLast(name.count)))
        return (try Handle(parent.withCString { open($0, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }), name)
    }

    private func exists(_ name: [UInt8], in folder: Handle) -> Bool {
        var status = stat()
        return Self.withName(name) { fstatat(folder.number, $0, &status, AT_SYMLINK_NOFOLLOW) } == 0
    }

    private static let changed = UploaderError("it has changed since it was read, and stays")

    /// - Throws: ``UploaderError`` in the system's words.
    private static func check(_ result: Int32) throws {
        if result != 0 { throw UploaderError("it stays: \(String(cString: strerror(errno)))") }
    }

    private static func withName(_ name: [UInt8], _ body: (UnsafePointer<CChar>) -> Int32) -> Int32 {
        FilePath(bytes: name).withCString(body)
    }

    /// An open file or folder, closed with the last reference.
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

        /// Whether another program has the file open for writing. Where the system cannot tell, nobody has.
        ///
        /// Nobody can open it for writing as long as this object lives: whoever does waits.
        var isBeingWritten: Bool {
            #if os(Linux)
            // A lease for reading is given only when no one writes. Source: fcntl(2).
            return fcntl(number, 1_024, Int32(F_RDLCK)) != 0 && errno == EAGAIN
            #else
            return false
            #endif
        }

        /// Whether a name is that of this file, and the file has the content that it had when it was opened.
        func isSame(as name: [UInt8], in folder: Handle) throws -> Bool {
            var (mine, other) = (stat(), stat())
            try check(fstat(number, &mine))
            try check(withName(name) { fstatat(folder.number, $0, &other, AT_SYMLINK_NOFOLLOW) })
            return mine.st_dev == other.st_dev && mine.st_ino == other.st_ino
        }
    }
}
