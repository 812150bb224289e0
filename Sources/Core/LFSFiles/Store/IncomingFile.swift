package import LFSSystem
import Synchronization

/// A download into the store. Its bytes are written to another folder, verified and synced, and then the file gets its
/// name.
///
/// A file of at least ``resumableByteCount`` is written to its ``PartialFile``. A later attempt, even of another
/// process, resumes the download. A smaller file is written under a unique name and removed if the download fails. The
/// same applies to a file that another process downloads at the same time. A file of up to ``smallByteCount`` stays in
/// memory until it is complete. Then it is written together with other complete files.
///
/// One task writes at a time, from a thread that may block.
package final class IncomingFile: Sendable {
    /// The size in bytes from which a file is written to a ``PartialFile``. Downloading a smaller file again takes no
    /// longer than resuming it.
    package static let resumableByteCount: Int64 = 1 << 20
    /// The size in bytes up to which a file stays in memory until its last byte.
    package static let smallByteCount: Int64 = 64 << 10

    private struct State {
        var hash = ContentHash()
        /// The bytes of a small file, which are hashed at the end.
        var bytes: [UInt8] = []
        /// The entity tag of the object that the bytes so far belong to.
        var tag: String?
        /// True if the next bytes belong to another version of the object.
        var isMixed = false
        var writeback = EarlyWriteback()
        /// True if an earlier download has left some of the bytes.
        var hasEarlierBytes = false

        var byteCount: Int64 { hash.byteCount + Int64(bytes.count) }
    }

    private let store: LocalStore
    private let id: FileID
    private let expectedByteCount: Int64
    /// The file on disk. Nil for a small file.
    private let disk: OnDisk?
    private let state = Mutex(State())

    /// The file that receives the bytes as they arrive.
    private struct OnDisk {
        let name: String
        let file: Descriptor
        /// The partial file that a later attempt can resume. Nil if no later attempt can.
        let partial: PartialFile?

        init(_ id: FileID, byteCount: Int64, in directory: Directory) throws(SystemError) {
            partial = byteCount < resumableByteCount ? nil : try PartialFile.open(id, in: directory)
            name = partial?.name ?? "\(id.text).\(FileID.make().text)"
            if let partial { file = partial.file } else { file = try directory.create(name) }
        }
    }

    /// Starts a download, or resumes an earlier one. Blocks the thread, also to read the existing bytes, except for a
    /// file that ``isSmall``.
    package init(
        _ id: FileID, byteCount: Int64, in store: LocalStore, flag: CancellationFlag = CancellationFlag()
    ) throws {
        self.store = store
        self.id = id
        expectedByteCount = byteCount
        do {
            disk =
                byteCount <= Self.smallByteCount ? nil : try OnDisk(id, byteCount: byteCount, in: store.incoming)
            try adopt(flag)
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            throw FileError.keeping(error, at: store.path)
        }
    }

    /// Returns the number of bytes that an earlier download of a file has left.
    package static func unfinishedByteCount(of id: FileID, in store: LocalStore) throws(SystemError) -> Int64 {
        try PartialFile.byteCount(id, in: store.incoming)
    }

    /// True if the bytes stay in memory until the file is complete.
    package var isSmall: Bool { disk == nil }
    /// The number of bytes so far.
    package var byteCount: Int64 { state.withLock { $0.byteCount } }
    /// The entity tag of the object that the bytes belong to. If nil, it is unknown, and no later attempt can resume.
    package var entityTag: String? { state.withLock { $0.tag } }
    /// True if an earlier download has left some of the bytes. The object may have changed since then.
    package var hasEarlierBytes: Bool { state.withLock { $0.hasEarlierBytes } }

    /// Hashes the bytes that an earlier attempt has left, if the download can resume from them.
    private func adopt(_ flag: CancellationFlag) throws {
        guard let disk, let partial = disk.partial else { return }
        let count = try disk.file.status().byteCount
        if count == 0 { return }
        let tag = try partial.tag()
        // If the file is complete, no further bytes are downloaded, so the version of the object does not matter.
        guard count <= expectedByteCount, tag != nil || count == expectedByteCount else { return try empty() }
        let found = try ContentHash(of: disk.file, byteCount: count, flag)
        try disk.file.seek(to: count)
        state.withLock {
            $0 = State(hash: found, tag: tag, writeback: EarlyWriteback(from: count), hasEarlierBytes: true)
        }
    }

    // MARK: Writing

    /// Receives the version that the following bytes belong to. Never blocks.
    package func begin(entityTag: String) {
        state.withLock { state in
            if state.byteCount == 0 { state.tag = entityTag }
            state.isMixed = state.tag != entityTag
        }
    }

    /// Appends the next bytes. Blocks the thread, except for a file that ``isSmall``.
    ///
    /// - Throws: ``FileError/Code/sourceChanged`` if there are more bytes than expected, or if they belong to another
    ///   version than the earlier ones.
    package func write(_ bytes: UnsafeRawBufferPointer) throws(FileError) {
        let (count, tag, isMixed) = state.withLock { ($0.byteCount, $0.tag, $0.isMixed) }
        guard !isMixed else { throw wrong("The remote object was replaced while it was downloaded.") }
        guard Int64(bytes.count) <= expectedByteCount - count else {
            throw wrong("The remote object is longer than the \(expectedByteCount) bytes that were recorded.")
        }
        guard let disk else {
            return state.withLock { state in
                if count == 0 { state.bytes.reserveCapacity(Int(expectedByteCount)) }
                state.bytes.append(contentsOf: bytes)
            }
        }
        do {
            if count == 0, let tag { try disk.partial?.saveTag(tag) }
            // The bytes are appended rather than written at an offset. If a disk stores fewer bytes than it reports,
            // the file is then too short, which is detected. With an offset it would have a hole.
            try disk.file.write(bytes)
        } catch {
            throw FileError.keeping(error, at: store.path)
        }
        let due = state.withLock { state in
            state.hash.update(bytes)
            return state.writeback.next(state.hash.byteCount)
        }
        if let due { disk.file.beginWriteback(due) }
    }

    /// Starts over at the first byte.
    package func restart() throws(FileError) {
        do {
            try empty()
        } catch {
            throw FileError.keeping(error, at: store.path)
        }
    }

    private func empty() throws(SystemError) {
        try disk?.partial?.removeTag()
        try disk?.file.truncate(to: 0)
        try disk?.file.seek(to: 0)
        state.withLock { $0 = State() }
    }

    // MARK: Ending

    /// Verifies size and SHA-256 and gives the file its name. If another download was faster, its file stays.
    ///
    /// - Parameter onRight: called after the verification, when no more bytes are needed.
    /// - Throws: ``FileError/Code/sourceChanged`` if the bytes do not match the row.
    package func finish(sha256: String, onRight: () -> Void = {}) async throws {
        var (hash, bytes) = state.withLock { ($0.hash, $0.bytes) }
        bytes.withUnsafeBytes { hash.update($0) }
        let (count, digest) = (hash.byteCount, hash.hex)
        guard count == expectedByteCount, digest == sha256 else {
            throw wrong(
                "The remote object is not the file that was recorded: \(count) of \(expectedByteCount) bytes, SHA-256 "
                    + (digest == sha256 ? "equal." : "different."))
        }
        onRight()
        guard let disk else { return try await store.arrivals.run(DownloadedFile(id: id, bytes: bytes)).get() }
        do {
            try await BlockingPool.shared.run { _ in try self.name(disk) }
        } catch {
            throw FileError.keeping(error, at: store.path)
        }
    }

    private func name(_ disk: OnDisk) throws {
        try disk.file.setMode(0o400)
        try disk.file.synchronizeBeforeFolder()
        try requireWhole(disk)
        do {
            try store.incoming.renameExclusively(disk.name, to: store.directory, as: id.text)
        } catch let error where error.isExisting {
            try store.incoming.remove(disk.name)
        }
        try disk.partial?.removeTag()
        try store.directory.synchronize()
    }

    /// Checks that the file is as long as the written bytes, even though all writes reported success.
    private func requireWhole(_ disk: OnDisk) throws {
        let kept = try disk.file.status().byteCount
        guard kept != expectedByteCount else { return }
        // The missing bytes are unknown, so no bytes are kept for a later attempt.
        try empty()
        throw FileError(
            .system, message: "\(store.path) stored \(kept) of \(expectedByteCount) bytes without an error.",
            path: store.path)
    }

    /// Ends an unfinished download. Keeps the bytes if a later attempt can resume, and removes everything else.
    package func leave() throws(SystemError) {
        let canGoOn = state.withLock { $0.tag != nil && $0.byteCount > 0 }
        if disk?.partial == nil || !canGoOn { try discard() }
    }

    /// Removes the unfinished file after an error that no later attempt can fix.
    package func discard() throws(SystemError) {
        guard let disk else { return }
        try disk.partial?.removeTag()
        try store.incoming.remove(disk.name)
    }

    private func wrong(_ message: String) -> FileError {
        FileError(.sourceChanged, message: message, path: store.path(of: id))
    }
}
