import LFSStorage

extension StorageConformance {
    /// Checks for downloads of ranges.
    static let rangeChecks: [StorageCheck] = [
        StorageCheck("a range in the middle returns only its bytes") { room in
            try await range(TestContent.chunk - 3..<TestContent.chunk + 11, room: room)
        },
        StorageCheck("a range from the start returns only its bytes") { try await range(0..<7, room: $0) },
        StorageCheck("a range that ends beyond the object returns the available bytes") { room in
            try await range(size - 5..<size + 100_000, room: room)
        },
        StorageCheck("an empty range returns no bytes and describes the object") { try await range(40..<40, room: $0) },
    ]

    private static let size = 2 * TestContent.chunk

    private static func range(_ range: Range<Int>, room: CheckRoom) async throws {
        let content = TestContent.make(size)
        let key = try room.key("content")
        try await room.upload(content, to: key)
        let request = DownloadRequest(key, range: Int64(range.lowerBound)..<Int64(range.upperBound))
        let (object, bytes) = try await room.succeeding("a download of a range succeeds") {
            try await room.download(request)
        }
        try room.require(bytes == Array(content[range.clamped(to: 0..<size)]), rule: "the bytes are those of the range")
        try room.require(object.key == key && object.byteCount == Int64(size), rule: "the whole object is described")
    }
}
