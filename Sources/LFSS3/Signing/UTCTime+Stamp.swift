import LFSHTTPStorage

extension UTCTime {
    /// `20130524`, as a credential scope has it.
    var dayStamp: String { String(decoding: dayBytes, as: UTF8.self) }

    /// `20130524T000000Z`, as `x-amz-date` has it (ISO 8601, basic format).
    var stamp: String {
        var bytes = dayBytes
        bytes.append(UInt8(ascii: "T"))
        Self.append(hour, to: &bytes)
        Self.append(minute, to: &bytes)
        Self.append(second, to: &bytes)
        bytes.append(UInt8(ascii: "Z"))
        return String(decoding: bytes, as: UTF8.self)
    }

    private var dayBytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(16)
        Self.append(year / 100, to: &bytes)
        Self.append(year, to: &bytes)
        Self.append(month, to: &bytes)
        Self.append(day, to: &bytes)
        return bytes
    }

    /// The last two digits.
    private static func append(_ number: Int, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "0") + UInt8(number / 10 % 10))
        bytes.append(UInt8(ascii: "0") + UInt8(number % 10))
    }
}
