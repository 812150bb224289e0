package import Foundation

/// The state of the upload queue in numbers.
package struct Backlog: Hashable, Sendable {
    /// The number of files that wait for their upload.
    package var queued = 0
    /// The total size of these files in bytes.
    package var queuedBytes: Int64 = 0
    /// The number of files whose upload was given up, or whose bytes are recorded as lost or damaged.
    package var failed = 0
    /// The creation time of the oldest waiting file, or nil if no file waits.
    package var oldest: Date?
}
