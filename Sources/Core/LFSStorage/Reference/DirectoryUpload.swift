import LFSSystem

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// An upload into a folder: it writes a part file, verifies, syncs and renames it.
struct DirectoryUpload: Sendable {
    let source: UploadSource
    let folder: Directory
    let name: String
    let key: ObjectKey
    let session: UploadSession

    /// Returns the name of the part file. There is one per key, so the leftover of a crash is found without a listing.
    /// No key starts with a dot.
    static func partName(of name: String) -> String { ".\(name).part" }

    /// Runs the upload. Blocks the thread. The caller must sync the folder.
    func run(_ flag: CancellationFlag) throws {
        let part = Self.partName(of: name)
        let file = try create(part, flag: flag)
        do {
            try fill(file, flag: flag)
            try folder.rename(part, to: folder, as: name)
        } catch {
            do {
                try folder.remove(part)
            } catch let leftover {
                throw StorageError(
                    .serverError, message: "\(error) The unfinished file could not be removed either: \(leftover)",
                    key: key, cause: error)
            }
            throw error
        }
    }

    /// Removes the part that a crash has left. Keeps the part of a running upload, which that upload owns.
    static func removeAbandoned(_ name: String, in folder: Directory) throws -> Bool {
        let part = partName(of: name)
        guard let status = try folder.status(of: part) else { return false }
        // An upload never creates such a file. Only its name is removed, because a link may lead to another user's
        // file.
        guard mayBeOurs(status) else { return try folder.remove(part) }
        let file = try open(part, in: folder)
        guard try FileLock(file).tryLock(.exclusive), try folder.contains(file.status(), named: part) else {
            return false
        }
        return try folder.remove(part)
    }

    /// Checks that the file system has locks, so that missing locks are reported once and not by each upload.
    static func requireLocks(in folder: Directory) throws(SystemError) {
        let file: Descriptor
        do throws(SystemError) {
            file = try folder.openOrCreate(lockProbe)
        } catch {
            // The disk may be full, for example. The first upload reports it.
            return
        }
        let locked = Result { () throws(SystemError) in try FileLock(file).tryLock(.shared) }
        try folder.remove(lockProbe)
        _ = try locked.get()
    }

    private static let lockProbe = ".locks.part"

    /// Opens the part file under a lock. Waits for another upload of the same key, and reuses a part without an owner.
    private func create(_ part: String, flag: CancellationFlag) throws -> Descriptor {
        while true {
            let file = try Self.open(part, in: folder)
            let lock = FileLock(file)
            while try !lock.tryLock(.exclusive) {
                // Another process may hold the lock. A blocking wait would not end at a cancellation, so the lock is
                // polled.
                try flag.check()
                usleep(Self.lockInterval)
            }
            // The previous owner may have renamed or removed the file while this upload waited for its lock.
            let status = try file.status()
            guard try folder.contains(status, named: part) else { continue }
            if status.byteCount > 0 { try file.truncate(to: 0) }
            return file
        }
    }

    /// Opens the part file, or creates it. Another entry with its name is not written to but removed: a link, a file
    /// with other names, or a file of another user.
    private static func open(_ part: String, in folder: Directory) throws -> Descriptor {
        for _ in 0..<tries {
            if let file = try create(part, in: folder) { return file }
            if let status = try folder.status(of: part) {
                if mayBeOurs(status) {
                    let file = try folder.openOrCreate(part)
                    // The file may have been replaced in the meantime.
                    if try mayBeOurs(file.status()) { return file }
                }
                try folder.remove(part)
            }
        }
        throw StorageError(
            .serverError, message: "\(folder.child(part)) is replaced again and again by another program.")
    }

    private static let tries = 100

    /// Returns nil if the name exists.
    private static func create(_ part: String, in folder: Directory) throws(SystemError) -> Descriptor? {
        do {
            return try folder.create(part)
        } catch let error where error.isExisting {
            return nil
        }
    }

    /// Returns true if the file may be the part of an upload. A file system that does not count links reports 0.
    private static func mayBeOurs(_ status: FileStatus) -> Bool {
        status.isRegularFile && status.linkCount <= 1 && status.isOurs
    }

    /// The delay before the next attempt to acquire the lock, in microseconds.
    private static let lockInterval: UInt32 = 5_000

    private func fill(_ file: Descriptor, flag: CancellationFlag) throws {
        try source.requireUnchanged()
        var check = SourceCheck(source)
        var writeback = EarlyWriteback()
        let leavesHoles = source.isSparse
        try FileCopy.forEachChunk(0..<source.byteCount, flag: flag, reading: { try source.read(into: $0, at: $1) }) {
            bytes in
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
                .integrity,
                message: "The storage folder stored \(written) of \(source.byteCount) bytes without an error.",
                key: key)
        }
    }
}
