import LFSSystem

extension UTCTime {
    /// Parses a time such as `2013-05-24T00:00:00.000Z` (RFC 3339, in UTC). Fractions of a second are dropped.
    package init?(iso8601 text: String) {
        let bytes = Array(text.utf8)
        guard bytes.count >= 20, bytes.last == UInt8(ascii: "Z"),
            zip([4, 7, 10, 13, 16], "--T::".utf8).allSatisfy({ bytes[$0.0] == $0.1 }),
            bytes.count == 20 || (bytes[19] == UInt8(ascii: ".") && bytes.count > 21)
        else { return nil }
        let starts = [0...3, 5...6, 8...9, 11...12, 14...15, 17...18, 20...max(20, bytes.count - 2)]
        var numbers: [Int] = []
        for range in bytes.count == 20 ? starts.dropLast() : starts[...] {
            guard bytes[range].allSatisfy(\.isDigit) else { return nil }
            numbers.append(bytes[range].prefix(9).reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) })
        }
        self.init(
            year: numbers[0], month: numbers[1], day: numbers[2], hour: numbers[3], minute: numbers[4],
            second: numbers[5])
    }
}
