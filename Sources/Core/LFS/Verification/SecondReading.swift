/// The second attempt to read local bytes after an error. An error does not prove damage. Only a checksum does.
enum SecondReading {
    /// The pause before the second attempt. It is long enough for a bus reset of a disk, and short enough for a disk
    /// that never returns the bytes.
    static let pause = Duration.milliseconds(500)
}
