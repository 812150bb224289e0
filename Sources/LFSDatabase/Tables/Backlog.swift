package import Foundation

/// How the queue of uploads stands, in numbers.
package struct Backlog: Hashable, Sendable {
    /// Files that wait for their upload.
    package var queued = 0
    /// Their bytes.
    package var queuedBytes: Int64 = 0
    /// Files whose upload was given up, or whose bytes are noted as lost or damaged.
    package var failed = 0
    /// When the oldest file that waits was made; nil when none does.
    package var oldest: Date?
}
