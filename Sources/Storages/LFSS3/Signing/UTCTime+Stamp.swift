import LFSHTTPStorage

extension UTCTime {
    /// The day in the form of a credential scope: `20130524`.
    var dayStamp: String { String(decoding: dayBytes, as: UTF8.self) }

    /// The time in the form of `x-amz-date` (ISO 8601, basic format): `20130524T000000Z`.
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

    /// Appends the last two digits.
    private static func append(_ number: Int, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "0") + UInt8(number / 10 % 10))
        bytes.append(UInt8(ascii: "0") + UInt8(number % 10))
    }
}
