import LFSStorage

extension StorageConformance {
    /// Parts of an object.
    static let rangeChecks: [StorageCheck] = [
        StorageCheck("a range in the middle gives just its bytes") { room in
            try await range(TestContent.chunk - 3..<TestContent.chunk + 11, room)
        },
        StorageCheck("a range from the start gives just its bytes") { try await range(0..<7, $0) },
        StorageCheck("a range that ends beyond the object gives what there is") { room in
            try await range(size - 5..<size + 100_000, room)
        },
        StorageCheck("an empty range gives no bytes and describes the object") { try await range(40..<40, $0) },
    ]

    private static let size = 2 * TestContent.chunk

    private static func range(_ range: Range<Int>, _ room: CheckRoom) async throws {
        let content = TestContent.make(size)
        let key = try room.key("content")
        try await room.upload(content, to: key)
        let request = DownloadRequest(key, range: Int64(range.lowerBound)..<Int64(range.upperBound))
        let (object, bytes) = try await room.succeeding("a download of a range succeeds") {
            try await room.download(request)
        }
        try room.require(bytes == Array(content[range.clamped(to: 0..<size)]), "the bytes are those of the range")
        try room.require(object.key == key && object.byteCount == Int64(size), "the whole object is described")
    }
}
