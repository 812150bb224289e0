package import LFSHTTPStorage
package import LFSStorage

/// The reply to "ListParts" of the Amazon S3 API reference.
package struct ListPartsReply: Hashable, Sendable {
    /// A part that the server has.
    package struct Part: Hashable, Sendable {
        package let number: Int
        package let byteCount: Int64
        package let entityTag: EntityTag
        /// The base64 of the part's SHA-256, if the server keeps it.
        package let checksumSHA256: String?
        /// The base64 of the part's CRC-64/NVME, if the server keeps it.
        package let checksumCRC64: String?

        init(_ element: ReplyElement) throws(StorageError) {
            number = try element.required("PartNumber", in: 1...10_000)
            byteCount = try element.required("Size", in: 0...Int64.max)
            guard let entityTag = EntityTag(try element.required("ETag")) else {
                throw StorageError(.serverError, message: "The server listed part \(number) with an empty <ETag>.")
            }
            self.entityTag = entityTag
            checksumSHA256 = element.optional("ChecksumSHA256")
            checksumCRC64 = element.optional("ChecksumCRC64NVME")
        }
    }

    /// The parts in the server's order, without repeated numbers. If a part was sent twice, SeaweedFS lists it
    /// twice, newest first.
    package let parts: [Part]
    /// The `part-number-marker` of the next page, or nil on the last page.
    package let nextMarker: Int?

    /// - Throws: ``StorageError/Code/serverError`` when the body, of at most 4 MiB, is something else.
    package init(_ body: [UInt8]) throws(StorageError) {
        let root = try XMLReader.read(body, root: "ListPartsResult", limit: 4 << 20)
        var seen: Set<Int> = []
        var parts: [Part] = []
        for element in root.all("Part") {
            let part = try Part(element)
            if seen.insert(part.number).inserted { parts.append(part) }
        }
        self.parts = parts
        nextMarker =
            try root.requiredFlag("IsTruncated") ? root.required("NextPartNumberMarker", in: 1...10_000) : nil
    }
}
