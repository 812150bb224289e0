import LFSBackup
import LFSSystem

/// The bytes of one original in a photo library, in chunks. Each iteration reads them again.
struct PhotoBytes: AsyncSequence, Sendable {
    let library: any PhotoLibrary
    let reference: PhotoReference
    let kind: PhotoResource.Kind
    let allowsNetwork: Bool

    func makeAsyncIterator() -> Iterator { Iterator(bytes: self) }

    struct Iterator: AsyncIteratorProtocol {
        private let bytes: PhotoBytes
        private var read: PhotoRead?
        private var isEmpty = true

        init(bytes: PhotoBytes) { self.bytes = bytes }

        /// - Throws: `BackupError.Code.unreadable`, also if the library has no bytes, and `CancellationError`.
        mutating func next() async throws -> [UInt8]? {
            let asset = bytes.reference.name
            do {
                guard let chunk = try await running().next() else {
                    guard isEmpty else { return nil }
                    throw BackupError(.unreadable, message: "Photos has no bytes of it", asset: asset)
                }
                isEmpty = isEmpty && chunk.isEmpty
                return chunk
            } catch let failure as PhotoFailure {
                throw failure.error(of: asset)
            }
        }

        private mutating func running() async throws -> PhotoRead {
            if let read { return read }
            // The first calls of Photos block.
            let new = try await BlockingPool.foreign.run { [bytes] _ in PhotoRead(bytes) }
            read = new
            return new
        }
    }
}

/// A running read. It ends when it is released.
final class PhotoRead: Sendable {
    private let channel = ChunkChannel()
    private let cancel: @Sendable () -> Void

    /// Starts the read. Blocks the thread.
    init(_ bytes: PhotoBytes) {
        cancel = bytes.library.read(
            bytes.kind, of: bytes.reference.identifier, allowsNetwork: bytes.allowsNetwork, into: channel)
    }

    func next() async throws -> [UInt8]? { try await channel.next() }

    deinit {
        if channel.close() { cancel() }
    }
}
