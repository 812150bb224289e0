import LFSHTTPStorage

extension UTCTime {
    /// `2013-05-24T00:00:00Z`, as signatures and user delegation keys have it (ISO 8601).
    var signatureText: String {
        "\(Self.digits(year, 4))-\(Self.digits(month, 2))-\(Self.digits(day, 2))"
            + "T\(Self.digits(hour, 2)):\(Self.digits(minute, 2)):\(Self.digits(second, 2))Z"
    }

    private static func digits(_ number: Int, _ count: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(count - text.utf8.count, 0)) + text
    }
}
