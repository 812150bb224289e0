/// What counts as a large file: it waits in a queue of its own, so that small ones never stand behind it.
package enum LargeFile {
    /// The size in bytes from which on a file is large.
    package static let byteCount: Int64 = 8 * 1_024 * 1_024
}
