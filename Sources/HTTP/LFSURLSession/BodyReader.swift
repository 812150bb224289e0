import LFSHTTP

/// A reader of a request's body from start to end.
struct BodyReader {
    private let range: Range<Int64>
    private let read: RequestBody.Read
    private var offset: Int64

    init(_ range: Range<Int64>, read: @escaping RequestBody.Read) {
        self.range = range
        self.read = read
        offset = range.lowerBound
    }

    /// Reads the next bytes. Returns 0 at the end.
    ///
    /// - Throws: ``HTTPError/Code/bodyUnreadable`` if the body cannot be read, or ends before its length.
    mutating func next(into buffer: UnsafeMutableRawBufferPointer) throws(HTTPError) -> Int {
        let rest = range.upperBound - offset
        guard rest > 0 else { return 0 }
        let piece = UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(Int(min(rest, Int64(buffer.count)))))
        let count: Int
        do {
            count = try read(piece, offset)
        } catch {
            throw HTTPError(
                .bodyUnreadable, message: "The body of the request cannot be read: \(error)", cause: error)
        }
        guard count > 0 else {
            throw HTTPError(.bodyUnreadable, message: "The body of the request ends \(rest) bytes too early.")
        }
        offset += Int64(count)
        return count
    }
}
