/// The second reading of local bytes that an error has kept from being read. An error says nothing about the bytes;
/// only a checksum shows damage.
enum SecondReading {
    /// Long enough for a bus reset of a disk, and short enough for a disk that never gives the bytes.
    static let pause = Duration.milliseconds(500)
}
