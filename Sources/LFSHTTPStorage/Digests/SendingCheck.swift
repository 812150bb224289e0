package import LFSHTTP
package import LFSStorage
import LFSSystem
import Synchronization

/// Compares a source's bytes with what was recorded while they go out, for a server that checks nothing itself.
///
/// Owner of its state: the mutex. One request reads, from its start to its end, or again from its start.
package final class SendingCheck: Sendable {
    private let source: UploadSource
    private let state: Mutex<SourceCheck>

    package init(_ source: UploadSource) {
        self.source = source
        state = Mutex(SourceCheck(source))
    }

    /// The request's body: all of the source.
    package var body: RequestBody {
        .reading(0..<source.byteCount) { [self] buffer, offset in
            let count = try source.read(into: buffer, at: offset)
            state.withLock { state in
                if offset == 0 { state = SourceCheck(source) }
                if offset == state.byteCount { state.update(UnsafeRawBufferPointer(rebasing: buffer.prefix(count))) }
            }
            return count
        }
    }

    /// Call it after the request.
    ///
    /// - Throws: ``StorageError/Code/sourceChanged`` when the bytes that went out are not the recorded ones.
    package func requireRecorded() async throws {
        let check = state.withLock { $0 }
        try await BlockingPool.shared.run { flag in try check.requireRecorded(flag) }
    }
}
