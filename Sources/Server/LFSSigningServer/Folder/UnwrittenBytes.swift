import LFSSystem
import Synchronization

/// The announced bytes that are still to be written to a folder, by the signature of a body's URL or the name of an
/// upload whose parts are joined. Together they must leave the reserve of the disk free.
///
/// The mutex owns the counts.
final class UnwrittenBytes: Sendable {
    private let counts = Mutex<[String: Int64]>([:])

    var isEmpty: Bool { counts.withLock { $0.isEmpty } }

    /// Adds the bytes of a body or of an upload.
    ///
    /// - Returns: the sum of these bytes and of all that were added before. Nil if the name was added already. The sum
    ///   excludes later ones, so that of two concurrent bodies with room for one, exactly one is refused.
    func begin(_ name: String, byteCount: Int64) -> Int64? {
        counts.withLock { counts in
            if counts[name] != nil { return nil }
            counts[name] = byteCount
            return counts.values.reduce(Int64(0)) { $0.addingSaturated($1) }
        }
    }

    /// Subtracts written bytes, which the free space of the disk contains no more.
    func subtract(_ byteCount: Int, from name: String) {
        counts.withLock { counts in
            if let count = counts[name] { counts[name] = max(count - Int64(byteCount), 0) }
        }
    }

    func end(_ name: String) { counts.withLock { $0[name] = nil } }
}
