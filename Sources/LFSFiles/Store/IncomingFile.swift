package import LFSSystem
import Synchronization

/// A download on its way into the store: written aside under a unique name, checked, synced, then given its name.
///
/// Owner of the running hash: the mutex. One task writes at a time, from a thread that may block.
package final class IncomingFile: Sendable {
    private let store: LocalStore
    private let id: FileID
    private let name: String
    private let file: Descriptor
    private let expectedByteCount: Int64
    private let hash = Mutex(ContentHash())

    package init(_ id: FileID, byteCount: Int64, in store: LocalStore) throws(FileError) {
        self.store = store
        self.id = id
        self.name = "\(id.text).\(FileID.make().text)"
        self.expectedByteCount = byteCount
        do {
            file = try store.incoming.create(name)
        } catch {
            throw FileError.keeping(error, at: store.path)
        }
    }

    /// - Throws: ``FileError/Code/sourceChanged`` as soon as more bytes come than were expected.
    package func write(_ bytes: UnsafeRawBufferPointer) throws(FileError) {
        let count = hash.withLock { hash in
            hash.update(bytes)
            return hash.byteCount
        }
        guard count <= expectedByteCount else {
            throw FileError(
                .sourceChanged, "The remote object is longer than the \(expectedByteCount) bytes that were recorded.",
                path: store.path(of: id))
        }
        do {
            try file.write(bytes)
        } catch {
            throw FileError.keeping(error, at: store.path)
        }
    }

    /// Checks size and SHA-256 and gives the file its name. If another download was faster, its file stays.
    package func finish(sha256: String) async throws {
        let (count, digest) = hash.withLock { ($0.byteCount, $0.hex) }
        guard count == expectedByteCount, digest == sha256 else {
            throw FileError(
                .sourceChanged,
                "The remote object is not the file that was recorded: \(count) of \(expectedByteCount) bytes, SHA-256 "
                    + (digest == sha256 ? "equal." : "different."),
                path: store.path(of: id))
        }
        do {
            try await BlockingPool.shared.run { _ in
                try self.file.setMode(0o400)
                try self.file.synchronize()
                do {
                    try self.store.incoming.renameExclusively(self.name, to: self.store.directory, as: self.id.text)
                } catch let error as SystemError where error.isExisting {
                    try self.store.incoming.remove(self.name)
                }
            }
            try await store.directory.synchronize()
        } catch {
            throw FileError.keeping(error, at: store.path)
        }
    }

    /// Removes the unfinished file, after an error.
    package func discard() throws(SystemError) { try store.incoming.remove(name) }
}
