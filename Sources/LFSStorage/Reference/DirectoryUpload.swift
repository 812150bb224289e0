import LFSSystem

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// One upload into a folder: write aside, verify, sync, rename.
struct DirectoryUpload: Sendable {
    let source: UploadSource
    let folder: Directory
    let name: String
    let key: ObjectKey
    let session: UploadSession

    /// One name for each key, so that what a crash leaves is found without a listing. No key begins with a dot.
    static func partName(of name: String) -> String { ".\(name).part" }

    /// Blocks the thread. The folder's own sync is the caller's.
    func run(_ flag: CancellationFlag) throws {
        let part = Self.partName(of: name)
        let file = try create(part, flag)
        do {
            try fill(file, flag)
            try folder.rename(part, to: folder, as: name)
        } catch {
            do {
                try folder.remove(part)
            } catch let leftover {
                throw StorageError(
                    .serverError, "\(error) The unfinished file could not be removed either: \(leftover)",
                    key: key, cause: error)
            }
            throw error
        }
    }

    /// Removes what a crash has left of an upload. The part of one that is under way stays: it is that upload's.
    static func removeAbandoned(_ name: String, in folder: Directory) throws -> Bool {
        let part = partName(of: name)
        guard let status = try folder.status(of: part) else { return false }
        // No upload makes such a file. Only its name is removed, since a link may lead to somebody else's file.
        guard mayBeOurs(status) else { return try folder.remove(part) }
        let file = try open(part, in: folder)
        guard try FileLock(file).tryLock(.exclusive), try isCurrent(file, part, folder) else { return false }
        return try folder.remove(part)
    }

    /// Checks that the file system has locks, so that one without them is reported once and not for each upload.
    static func requireLocks(in folder: Directory) throws(SystemError) {
        let file: Descriptor
        do throws(SystemError) {
            file = try folder.openOrCreate(lockProbe)
        } catch {
            // A full disk, for one: the first upload reports it.
            return
        }
        let locked = Result { () throws(SystemError) in try FileLock(file).tryLock(.shared) }
        try folder.remove(lockProbe)
        _ = try locked.get()
    }

    private static let lockProbe = ".locks.part"

    /// Opens the part file under a lock. Another upload of the same key is waited for; a part without an owner is
    /// reused.
    private func create(_ part: String, _ flag: CancellationFlag) throws -> Descriptor {
        while true {
            let file = try Self.open(part, in: folder)
            let lock = FileLock(file)
            while try !lock.tryLock(.exclusive) {
                // Another process may hold the lock. A blocking wait would not end at a cancellation, so this asks
                // again.
                try flag.check()
                usleep(Self.lockInterval)
            }
            // The owner before us may have renamed or removed the file while we waited for its lock.
            guard try Self.isCurrent(file, part, folder) else { continue }
            try file.truncate(to: 0)
            return file
        }
    }

    /// Opens the part, or makes it. Something else of its name, such as a link, a file with other names or one of
    /// another user, is not written to: that name is removed.
    private static func open(_ part: String, in folder: Directory) throws -> Descriptor {
        for _ in 0..<tries {
            if let file = try create(part, in: folder) { return file }
            if let status = try folder.status(of: part) {
                if mayBeOurs(status) {
                    let file = try folder.openOrCreate(part)
                    // It may have been replaced since.
                    if try mayBeOurs(file.status()) { return file }
                }
                try folder.remove(part)
            }
        }
        throw StorageError(.serverError, "\(folder.child(part)) is replaced again and again by another program.")
    }

    private static let tries = 100

    /// nil when something has the name already.
    private static func create(_ part: String, in folder: Directory) throws(SystemError) -> Descriptor? {
        do {
            return try folder.create(part)
        } catch let error where error.isExisting {
            return nil
        }
    }

    /// Whether it may be the part of an upload. A file system that does not count names reports 0 of them.
    private static func mayBeOurs(_ status: FileStatus) -> Bool {
        status.isRegularFile && status.linkCount <= 1 && status.owner == FileStatus.currentUser
    }

    /// How long to wait before the next try for the lock, in microseconds.
    private static let lockInterval: UInt32 = 5_000

    private static func isCurrent(_ file: Descriptor, _ part: String, _ folder: Directory) throws -> Bool {
        try folder.status(of: part)?.inode == file.status().inode
    }

    private func fill(_ file: Descriptor, _ flag: CancellationFlag) throws {
        try source.requireUnchanged()
        var check = SourceCheck(source)
        var writeback = EarlyWriteback()
        let leavesHoles = source.isSparse
        try FileCopy.forEachChunk(0..<source.byteCount, flag, reading: { try source.read(into: $0, at: $1) }) { bytes in
            check.update(bytes)
            if leavesHoles { try file.writeSparsely(bytes) } else { try file.write(bytes) }
            if let due = writeback.next(check.byteCount) { file.beginWriteback(due) }
            session.report(bytesTransferred: check.byteCount)
        }
        try check.requireRecorded(flag)
        if leavesHoles { try file.truncate(to: source.byteCount) }
        try file.synchronize()
        let written = try file.status().byteCount
        guard written == source.byteCount else {
            throw StorageError(
                .integrity, "The storage folder took \(written) of \(source.byteCount) bytes without an error.",
                key: key)
        }
    }
}
