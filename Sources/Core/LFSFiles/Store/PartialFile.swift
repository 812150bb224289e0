import Foundation
import LFSSystem

/// The unfinished bytes of a download in `incoming/`, which outlive the process.
///
/// ```
/// incoming/<id>.part          0600   the bytes from the first one on. Locked by the process that writes them
/// incoming/<id>.tag           0600   the entity tag of the object that they belong to
/// ```
///
/// Neither file is synced. After a power failure either one may be old, empty or full of zeros. The verification at the
/// end covers the resumed bytes too, so the worst result is a second download. The tag is written only while there are
/// no bytes. So a killed process never leaves the bytes of one version with the tag of another.
struct PartialFile {
    let file: Descriptor
    private let directory: Directory
    private let id: FileID
    private let lock: FileLock

    /// Opens the partial file of a download, creates it if it is missing, and locks it as long as this value exists.
    ///
    /// - Returns: nil if another process or task writes it.
    static func open(_ id: FileID, in directory: Directory) throws(SystemError) -> PartialFile? {
        // An attempt fails if a finished download of the same file has removed the name in the meantime, or if an
        // unsuitable entry had to be removed first.
        for _ in 0..<4 {
            let file: Descriptor
            do {
                file = try directory.openOrCreate(name(id))
            } catch let error where error.isPermissionDenied || error.isSymbolicLink || error.isNoFile {
                // A crash during the last steps of a download may leave the file read-only. Or the name belongs to a
                // link or a socket, which LFS never creates.
                try directory.remove(name(id))
                continue
            }
            let lock = FileLock(file)
            guard try lock.tryLock(.exclusive) else { return nil }
            let status = try file.status()
            guard try directory.contains(status, named: name(id)) else { continue }
            // A crash during the last steps of a download may leave the file with two names, in `incoming/` and in the
            // store. A file in the store must not be written to. The same is true for a pipe or a file of another user.
            guard status.isSolelyOurs else {
                try directory.remove(name(id))
                continue
            }
            return PartialFile(file: file, directory: directory, id: id, lock: lock)
        }
        return nil
    }

    static func name(_ id: FileID) -> String { id.text + ".part" }
    static func tagName(_ id: FileID) -> String { id.text + ".tag" }

    /// Returns the id of the file whose partial file has this name.
    static func id(ofPart name: String) -> FileID? { id(of: name, ".part") }

    private static func id(of name: String, _ suffix: String) -> FileID? {
        name.hasSuffix(suffix) ? FileID(text: String(name.dropLast(suffix.count))) : nil
    }

    /// Returns the id and the partial file's status for the name of a partial file or its tag. Returns nil if no
    /// download can resume from it.
    static func resumable(
        _ name: String, in directory: Directory
    ) throws(SystemError) -> (id: FileID, status: FileStatus)? {
        guard let id = id(ofPart: name) ?? id(of: name, ".tag"), let status = try directory.status(of: Self.name(id)),
            status.byteCount > 0, status.linkCount == 1
        else { return nil }
        return (id, status)
    }

    /// Returns the number of bytes that exist of a file.
    static func byteCount(_ id: FileID, in directory: Directory) throws(SystemError) -> Int64 {
        try directory.status(of: name(id))?.byteCount ?? 0
    }

    var name: String { Self.name(id) }

    /// Returns the entity tag of the object that the bytes belong to. Returns nil if it is unknown. Then no download
    /// can resume from them.
    func tag() throws(SystemError) -> String? {
        let file: Descriptor
        do {
            file = try directory.openForReading(Self.tagName(id))
        } catch let error where error.isMissing {
            return nil
        }
        let bytes = try file.prefix(Self.longestTag + 1)
        guard (1...Self.longestTag).contains(bytes.count) else { return nil }
        return String(validating: bytes, as: UTF8.self)
    }

    /// Saves the tag of the bytes that follow. A tag longer than those of all storages is not saved.
    func saveTag(_ tag: String) throws(SystemError) {
        try directory.remove(Self.tagName(id))
        let bytes = Array(tag.utf8)
        guard bytes.count <= Self.longestTag else { return }
        try directory.create(Self.tagName(id)).write(bytes)
    }

    func removeTag() throws(SystemError) { try directory.remove(Self.tagName(id)) }

    /// Removes the partial file and its tag, regardless of who created them.
    static func remove(_ id: FileID, in directory: Directory) throws(SystemError) {
        try directory.remove(tagName(id))
        try directory.remove(name(id))
    }

    private static let longestTag = 4_096
}
