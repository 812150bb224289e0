import LFSHTTPStorage

extension UTCTime {
    /// The time in the form of signatures and user delegation keys (ISO 8601): `2013-05-24T00:00:00Z`.
    var signatureText: String {
        "\(Self.digits(year, count: 4))-\(Self.digits(month, count: 2))-\(Self.digits(day, count: 2))"
            + "T\(Self.digits(hour, count: 2)):\(Self.digits(minute, count: 2)):\(Self.digits(second, count: 2))Z"
    }

    private static func digits(_ number: Int, count: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(count - text.utf8.count, 0)) + text
    }
}
