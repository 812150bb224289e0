/// The limit of the size of files.
package enum FileSize {
    /// The largest size of a file, in bytes: 1 PiB. It keeps sums of sizes below the largest number.
    package static let max: Int64 = 1 << 50
}
