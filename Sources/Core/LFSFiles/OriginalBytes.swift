package import LFSSystem
import Synchronization

/// The bytes of small originals between their attachment and their upload, so that each of them is read only once.
///
/// Their total size is limited. Bytes that do not fit are read again for the upload, and so are those whose upload does
/// not start soon.
package final class OriginalBytes: Sendable {
    private struct Entry {
        var bytes: [UInt8]
        var keptSince: ContinuousClock.Instant
    }

    private struct State {
        var entries: [FileID: Entry] = [:]
        var byteCount = 0
        /// No entry is older.
        var oldest: ContinuousClock.Instant?
    }

    /// The size of the largest original whose bytes are kept. It is read with one call.
    static let largest = Int64(FileCopy.chunkSize)
    static let lifetime = Duration.seconds(30)
    /// The size of an entry without bytes, which limits the number of empty originals.
    private static let entrySize = 512

    private let capacity: Int
    private let now: @Sendable () -> ContinuousClock.Instant
    private let state = Mutex(State())

    /// - Parameter capacity: the total size in bytes.
    init(
        capacity: Int = 8 << 20, now: @escaping @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now }
    ) {
        self.capacity = capacity
        self.now = now
    }

    /// Keeps the bytes of an original if they fit.
    func keep(_ bytes: [UInt8], of id: FileID) {
        let now = now()
        state.withLock { state in
            let size = bytes.count + Self.entrySize
            if state.byteCount + size > capacity { Self.removeOld(&state, now: now) }
            guard state.byteCount + size <= capacity else { return }
            state.entries[id] = Entry(bytes: bytes, keptSince: now)
            state.byteCount += size
            state.oldest = state.oldest ?? now
        }
    }

    /// Returns the bytes of an original and forgets them. Nil if they were not kept.
    package func take(_ id: FileID) -> [UInt8]? {
        state.withLock { state in
            guard let entry = state.entries.removeValue(forKey: id) else { return nil }
            state.byteCount -= entry.bytes.count + Self.entrySize
            return entry.bytes
        }
    }

    private static func removeOld(_ state: inout State, now: ContinuousClock.Instant) {
        guard let oldest = state.oldest, oldest.duration(to: now) >= lifetime else { return }
        state.entries = state.entries.filter { $0.value.keptSince.duration(to: now) < lifetime }
        state.byteCount = state.entries.values.reduce(0) { $0 + $1.bytes.count + entrySize }
        state.oldest = state.entries.values.map(\.keptSince).min()
    }
}
