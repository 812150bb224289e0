package import LFSSystem
import Synchronization

/// A download on its way into the store: written aside, checked, synced, then given its name.
///
/// A file of at least ``resumableByteCount`` is written to its ``PartialFile``, so that a later try, also one by
/// another process, goes on where this one ended. A smaller one, and one that another process fetches at the same time,
/// is written under a name of its own and goes with its failure. One of up to ``smallByteCount`` stays in memory until
/// it has come as a whole, and is then written together with others that have.
///
/// One task writes at a time, from a thread that may block.
package final class IncomingFile: Sendable {
    /// Files from this size on are written to a ``PartialFile``. To fetch a smaller one again takes no longer than to
    /// go on with it.
    package static let resumableByteCount: Int64 = 1 << 20
    /// Files up to this size wait in memory for their last byte.
    package static let smallByteCount: Int64 = 64 << 10

    private struct State {
        var hash = ContentHash()
        /// The bytes of a small file, whose hash is taken at the end.
        var bytes: [UInt8] = []
        /// The entity tag of the object that the bytes so far are of.
        var tag: String?
        /// Whether bytes of another version are about to come.
        var isMixed = false
        var writeback = EarlyWriteback()

        var byteCount: Int64 { hash.byteCount + Int64(bytes.count) }
    }

    private let store: LocalStore
    private let id: FileID
    private let expectedByteCount: Int64
    /// Nil for a small file.
    private let disk: OnDisk?
    private let state = Mutex(State())

    /// Where bytes are written as they come.
    private struct OnDisk {
        let name: String
        let file: Descriptor
        /// Where the bytes are kept for a later try; nil for a file that no later try goes on with.
        let partial: PartialFile?

        init(_ id: FileID, byteCount: Int64, in directory: Directory) throws(SystemError) {
            partial = byteCount < resumableByteCount ? nil : try PartialFile.open(id, in: directory)
            name = partial?.name ?? "\(id.text).\(FileID.make().text)"
            if let partial { file = partial.file } else { file = try directory.create(name) }
        }
    }

    /// Begins a download, or goes on with what an earlier one has left. Blocks the thread, also to read what is there,
    /// but for a file that ``isSmall``.
    package init(
        _ id: FileID, byteCount: Int64, in store: LocalStore, _ flag: CancellationFlag = CancellationFlag()
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

    /// How many bytes an earlier download of a file has left.
    package static func unfinishedByteCount(of id: FileID, in store: LocalStore) throws(SystemError) -> Int64 {
        try PartialFile.byteCount(id, in: store.incoming)
    }

    /// Whether its bytes stay in memory until all are there.
    package var isSmall: Bool { disk == nil }
    /// How many bytes there are.
    package var byteCount: Int64 { state.withLock { $0.byteCount } }
    /// The entity tag of the object that they are of; nil when it is not known. Then no later try goes on with them.
    package var entityTag: String? { state.withLock { $0.tag } }

    /// Takes the hash of what an earlier try has left, if it can be gone on with.
    private func adopt(_ flag: CancellationFlag) throws {
        guard let disk, let partial = disk.partial else { return }
        let count = try disk.file.status().byteCount
        if count == 0 { return }
        let tag = try partial.tag()
        // When all bytes are there, none is fetched any more, so the version of the object does not matter.
        guard count <= expectedByteCount, tag != nil || count == expectedByteCount else { return try empty() }
        let found = try ContentHash(of: disk.file, byteCount: count, flag)
        try disk.file.seek(to: count)
        state.withLock { $0 = State(hash: found, tag: tag, writeback: EarlyWriteback(from: count)) }
    }

    // MARK: Writing

    /// Hears which version the bytes that follow are of. Never blocks.
    package func begin(entityTag: String) {
        state.withLock { state in
            if state.byteCount == 0 { state.tag = entityTag }
            state.isMixed = state.tag != entityTag
        }
    }

    /// Takes the next bytes. Blocks the thread, but for a file that ``isSmall``.
    ///
    /// - Throws: ``FileError/Code/sourceChanged`` as soon as more bytes come than were expected, or bytes of another
    ///   version than those before.
    package func write(_ bytes: UnsafeRawBufferPointer) throws(FileError) {
        let (count, tag, isMixed) = state.withLock { ($0.byteCount, $0.tag, $0.isMixed) }
        guard !isMixed else { throw wrong("The remote object was replaced while it was fetched.") }
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
            // This appends, and does not write at an offset. A disk that takes fewer bytes than it reports then leaves
            // a file that is too short, which is noticed, and not one with a hole.
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

    /// Begins again at the first byte.
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

    /// Checks size and SHA-256 and gives the file its name. If another download was faster, its file stays.
    ///
    /// - Parameter onRight: called between the two, when no more bytes are needed.
    /// - Throws: ``FileError/Code/sourceChanged`` when the bytes are not the recorded ones.
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
        guard let disk else { return try await store.arrivals.run(ArrivedFile(id: id, bytes: bytes)).get() }
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

    /// What is on the disk has to be as long as what was written, whatever the writes have said.
    private func requireWhole(_ disk: OnDisk) throws {
        let kept = try disk.file.status().byteCount
        guard kept != expectedByteCount else { return }
        // Nobody can tell which bytes are missing, so none is kept for a later try.
        try empty()
        throw FileError(
            .system, "\(store.path) took \(kept) of \(expectedByteCount) bytes without an error.", path: store.path)
    }

    /// Ends without the file: what a later try can go on from stays, everything else goes.
    package func leave() throws(SystemError) {
        let canGoOn = state.withLock { $0.tag != nil && $0.byteCount > 0 }
        if disk?.partial == nil || !canGoOn { try discard() }
    }

    /// Removes the unfinished file, after an error that no later try mends.
    package func discard() throws(SystemError) {
        guard let disk else { return }
        try disk.partial?.removeTag()
        try store.incoming.remove(disk.name)
    }

    private func wrong(_ message: String) -> FileError {
        FileError(.sourceChanged, message, path: store.path(of: id))
    }
}
