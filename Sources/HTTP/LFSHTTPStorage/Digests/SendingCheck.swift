package import LFSHTTP
package import LFSStorage
import LFSSystem
import Synchronization

/// A check that compares a source's bytes with its recorded digest while they are sent. It serves storages whose server
/// verifies nothing.
///
/// The mutex owns the state. One request reads the source from start to end, or starts over.
package final class SendingCheck: Sendable {
    private let source: UploadSource
    private let state: Mutex<SourceCheck>

    package init(_ source: UploadSource) {
        self.source = source
        state = Mutex(SourceCheck(source))
    }

    /// The request's body, which is the whole source.
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

    /// Requires that the sent bytes are the recorded ones. Call it after the request.
    ///
    /// - Throws: ``StorageError/Code/sourceChanged`` when the bytes that were sent are not the recorded ones.
    package func requireRecorded() async throws {
        let check = state.withLock { $0 }
        try await BlockingPool.shared.run { flag in try check.requireRecorded(flag) }
    }
}
