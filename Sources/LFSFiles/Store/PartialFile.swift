import Foundation
import LFSSystem

/// The unfinished bytes of one file in `incoming/`, which outlive the process that fetched them.
///
/// ```
/// incoming/<id>.part          0600   the bytes from the first one on; locked by the one who writes them
/// incoming/<id>.tag           0600   the entity tag of the object that they are of
/// ```
///
/// Nothing of it is synced: after a power cut either file may be old, empty or full of zeros. Whatever a download goes
/// on from is checked with the rest, so that costs a second download at worst. A tag is written only while there are no
/// bytes, so a kill never leaves the bytes of one version with the tag of another.
struct PartialFile {
    let file: Descriptor
    private let directory: Directory
    private let id: FileID
    private let lock: FileLock

    /// Opens the partial of a file, makes it if there is none, and locks it until this value is gone.
    ///
    /// - Returns: nil when somebody else writes it.
    static func open(_ id: FileID, in directory: Directory) throws(SystemError) -> PartialFile? {
        // A turn ends without a result when the name was taken away meanwhile, by a download of the same file that was
        // finished, or when what it stood for had to be removed first.
        for _ in 0..<4 {
            let file: Descriptor
            do {
                file = try directory.openOrCreate(name(id))
            } catch let error where error.isPermissionDenied || error.isSymbolicLink || error.isNoFile {
                // A crash between the steps that finish a download has left the file read-only, or the name stands for
                // a link or a socket, which LFS never makes.
                try directory.remove(name(id))
                continue
            }
            let lock = FileLock(file)
            guard try lock.tryLock(.exclusive) else { return nil }
            let status = try file.status()
            guard try directory.status(of: name(id))?.inode == status.inode else { continue }
            // A crash between the steps that finish a download has left the file with two names, here and in the store,
            // and what is in the store must not be written to. Nor must a pipe, or a file of another user.
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

    /// The file whose partial has this name.
    static func id(ofPart name: String) -> FileID? { id(of: name, ".part") }

    private static func id(of name: String, _ suffix: String) -> FileID? {
        name.hasSuffix(suffix) ? FileID(text: String(name.dropLast(suffix.count))) : nil
    }

    /// The file whose partial, or partial's tag, has this name, and what the partial is; nil when no download can go on
    /// with it.
    static func resumable(
        _ name: String, in directory: Directory
    ) throws(SystemError) -> (id: FileID, status: FileStatus)? {
        guard let id = id(ofPart: name) ?? id(of: name, ".tag"), let status = try directory.status(of: Self.name(id)),
            status.byteCount > 0, status.linkCount == 1
        else { return nil }
        return (id, status)
    }

    /// How many bytes of a file there are.
    static func byteCount(_ id: FileID, in directory: Directory) throws(SystemError) -> Int64 {
        try directory.status(of: name(id))?.byteCount ?? 0
    }

    var name: String { Self.name(id) }

    /// The entity tag of the object whose bytes are there; nil when it is not known. Then no download can go on with
    /// them.
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

    /// Writes down the tag of the bytes that are about to come. A longer one than any storage has is not kept.
    func saveTag(_ tag: String) throws(SystemError) {
        try directory.remove(Self.tagName(id))
        let bytes = Array(tag.utf8)
        guard bytes.count <= Self.longestTag else { return }
        try directory.create(Self.tagName(id)).write(bytes)
    }

    func removeTag() throws(SystemError) { try directory.remove(Self.tagName(id)) }

    /// Removes the partial of a file, whoever left it.
    static func remove(_ id: FileID, in directory: Directory) throws(SystemError) {
        try directory.remove(tagName(id))
        try directory.remove(name(id))
    }

    private static let longestTag = 4_096
}
