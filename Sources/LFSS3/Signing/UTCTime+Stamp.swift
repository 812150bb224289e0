import LFSHTTPStorage

extension UTCTime {
    /// `20130524`, as a credential scope has it.
    var dayStamp: String { String(decoding: dayBytes, as: UTF8.self) }

    /// `20130524T000000Z`, as `x-amz-date` has it (ISO 8601, basic format).
    var stamp: String {
        var bytes = dayBytes
        bytes.append(UInt8(ascii: "T"))
        for part in [hour, minute, second] { Self.append(part, digits: 2, to: &bytes) }
        bytes.append(UInt8(ascii: "Z"))
        return String(decoding: bytes, as: UTF8.self)
    }

    private var dayBytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(16)
        Self.append(year, digits: 4, to: &bytes)
        Self.append(month, digits: 2, to: &bytes)
        Self.append(day, digits: 2, to: &bytes)
        return bytes
    }

    private static func append(_ number: Int, digits: Int, to bytes: inout [UInt8]) {
        var divisor = 1
        for _ in 1..<digits { divisor *= 10 }
        while divisor > 0 {
            bytes.append(UInt8(ascii: "0") + UInt8(number / divisor % 10))
            divisor /= 10
        }
    }
}
