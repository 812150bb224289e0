/// The range of a file that a request asks for: RFC 9110, section 14.
enum ByteRange: Equatable, Sendable {
    case whole
    case part(Range<Int64>)
    case unsatisfiable

    /// - Parameters:
    ///   - header: The field `Range`. A value that is not a single range of bytes is ignored, as the standard permits.
    ///   - byteCount: The size of the file.
    init(_ header: String?, of byteCount: Int64) {
        self = .whole
        guard let header, header.utf8.count < 100, header.hasPrefix("bytes=") else { return }
        let ends = header.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, ends.allSatisfy({ $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }) else { return }
        switch (Int64(ends[0]), Int64(ends[1])) {
        case (let first?, let last?) where first <= last:
            self = first < byteCount ? .part(first..<min(last, byteCount - 1) + 1) : .unsatisfiable
        case (let first?, nil) where ends[1].isEmpty:
            self = first < byteCount ? .part(first..<byteCount) : .unsatisfiable
        case (nil, let count?) where ends[0].isEmpty:
            self = count > 0 && byteCount > 0 ? .part(max(0, byteCount - count)..<byteCount) : .unsatisfiable
        default: return
        }
    }
}
