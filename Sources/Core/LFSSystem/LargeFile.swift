/// The definition of a large file. Large files have a queue of their own, so that small files never wait behind them.
package enum LargeFile {
    /// The smallest size of a large file in bytes.
    package static let byteCount: Int64 = 8 * 1_024 * 1_024
}
