import Crypto
package import LFSStorage
package import LFSSystem
import Synchronization

/// A digester of a file's consecutive ranges. It also compares the whole file with the recorded digest.
///
/// The mutex owns the state. It is locked to copy the state out and back, never while bytes are read. An upload
/// requests one range after the other.
package final class SourceDigester: Sendable {
    private struct State {
        var whole: SourceCheck
        var checks: [CyclicRedundancyCheck]
    }

    private let source: UploadSource
    private let kinds: PayloadDigest.Kinds
    private let state: Mutex<State>

    /// - Parameters:
    ///   - kinds: the digests to compute of each range.
    ///   - checks: the checksums to compute of the whole source.
    package init(
        _ source: UploadSource, kinds: PayloadDigest.Kinds, checks: Set<CyclicRedundancyCheck.Algorithm> = []
    ) {
        self.source = source
        self.kinds = kinds
        state = Mutex(State(whole: SourceCheck(source), checks: checks.map { CyclicRedundancyCheck($0) }))
    }

    /// The additional checksums of the bytes read so far, in hex.
    package var checks: [CyclicRedundancyCheck.Algorithm: String] {
        let checks = state.withLock { $0.checks }
        return Dictionary(checks.map { ($0.algorithm, $0.hex) }) { first, _ in first }
    }

    /// The CRC-64/NVME of the bytes read so far, in hex. nil if the source has no recorded CRC.
    package var crc64: String? { state.withLock { $0.whole.crc64 } }

    /// Returns the digests of the next bytes. It reads many bytes on a thread that may block.
    ///
    /// - Throws: ``StorageError/Code/sourceChanged`` when the file ends too early.
    package func next(_ byteCount: Int64) async throws -> PayloadDigest {
        try await run(byteCount) { [self] flag in
            var state = state.withLock { $0 }
            let digest = try read(byteCount, state: &state, flag: flag)
            self.state.withLock { $0 = state }
            return digest
        }
    }

    /// Requires that all bytes are the recorded ones. Call it at the end.
    ///
    /// - Throws: ``StorageError/Code/sourceChanged`` when the bytes are not the recorded ones.
    package func requireWhole() async throws {
        let whole = state.withLock { $0.whole }
        try await run(source.byteCount) { flag in try whole.requireRecorded(flag) }
    }

    /// Runs a body in place if it reads few bytes, and otherwise on a thread that may block.
    ///
    /// - Parameter byteCount: the number of bytes that the body reads.
    private func run<Result: Sendable>(
        _ byteCount: Int64, _ body: @escaping @Sendable (CancellationFlag) throws -> Result
    ) async throws -> Result {
        if byteCount <= BlockingPool.handoverByteCount { return try body(CancellationFlag()) }
        return try await BlockingPool.shared.run(body)
    }

    private func read(_ byteCount: Int64, state: inout State, flag: CancellationFlag) throws -> PayloadDigest {
        var sha256 = kinds.contains(.sha256) ? SHA256() : nil
        var md5 = kinds.contains(.md5) ? Insecure.MD5() : nil
        var crc64 = kinds.contains(.crc64) ? CyclicRedundancyCheck(.crc64NVME) : nil
        var position = state.whole.byteCount
        let end = position + byteCount
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 16)
        defer { buffer.deallocate() }
        while position < end {
            try flag.check()
            let wanted = min(Int64(buffer.count), end - position)
            let count = try source.read(
                into: UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(Int(wanted))), at: position)
            guard count > 0 else {
                throw StorageError(.sourceChanged, message: "The local file ends at byte \(position), too early.")
            }
            let bytes = UnsafeRawBufferPointer(rebasing: buffer.prefix(count))
            state.whole.update(bytes)
            for index in state.checks.indices { state.checks[index].update(bytes) }
            sha256?.update(bufferPointer: bytes)
            md5?.update(bufferPointer: bytes)
            crc64?.update(bytes)
            position += Int64(count)
        }
        return PayloadDigest(
            sha256: sha256.map { Hex.text($0.finalize()) }, md5: md5.map { Hex.text($0.finalize()) }, crc64: crc64?.hex)
    }
}
