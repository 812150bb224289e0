/// The server's description of itself, which it returns for a GET of its base URL.
package struct SigningDescription: Codable, Hashable, Sendable {
    /// The protocol version of this module.
    package static let version = 1

    /// A digest that a client must send for uploads and parts.
    package struct Digest: RawRepresentable, Hashable, Codable, Sendable {
        package let rawValue: String
        package init(rawValue: String) { self.rawValue = rawValue }
        package static let sha256 = Digest(rawValue: "sha256")
        package static let md5 = Digest(rawValue: "md5")
    }

    /// The rules for uploads in parts.
    package struct Parts: Codable, Hashable, Sendable {
        /// The size in bytes from which objects are uploaded in parts.
        package var threshold: Int64
        /// The minimum size in bytes of a part, except for the last part.
        package var smallest: Int64
        /// The maximum size of a part in bytes.
        package var largest: Int64
        /// The maximum number of parts.
        package var count: Int64
        /// The digests that a client must send for each part, or nil if they are those of uploads.
        package var digests: [Digest]?

        package init(
            threshold: Int64, smallest: Int64, largest: Int64, count: Int64, digests: [Digest]? = nil
        ) {
            self.threshold = threshold
            self.smallest = smallest
            self.largest = largest
            self.count = count
            self.digests = digests
        }
    }

    /// The digests that a client must send for uploads. They always include sha256.
    package var digests: [Digest]
    /// The maximum number of objects in a request.
    package var largestBatch: Int64
    /// The maximum size of an object in bytes, or nil if the server sets no limit.
    package var largestObject: Int64?
    /// The rules for uploads in parts, or nil if every object is uploaded with one request.
    package var parts: Parts?

    package init(
        digests: [Digest], largestBatch: Int64, largestObject: Int64? = nil, parts: Parts? = nil
    ) {
        self.digests = digests
        self.largestBatch = largestBatch
        self.largestObject = largestObject
        self.parts = parts
    }

    /// The digests that a client must send for each part.
    package var partDigests: [Digest] { parts?.digests ?? digests }

    private enum Keys: String, CodingKey {
        case version, digests, parts
        case largestBatch = "largest_batch"
        case largestObject = "largest_object"
    }

    package init(from decoder: any Decoder) throws {
        let fields = try CheckedFields(decoder, keys: Keys.self)
        _ = try fields.required(.version, as: Int.self, rule: "\(Self.version)") { $0 == Self.version }
        digests = try fields.required(.digests, rule: "a list of digests with sha256", Self.isDigestList)
        largestBatch = try fields.required(.largestBatch, rule: "1 to 10000") { (1...10_000).contains($0) }
        largestObject = try fields.number(.largestObject)
        parts = try fields.optional(.parts, rule: "the rules for parts of uploads") { (parts: Parts) in
            parts.threshold >= 0 && parts.smallest > 0 && parts.largest >= parts.smallest
                && parts.largest <= WireFormat.largestNumber && (1...100_000).contains(parts.count)
                && parts.digests.map(Self.isDigestList) != false
        }
    }

    private static func isDigestList(_ digests: [Digest]) -> Bool { digests.contains(.sha256) && digests.count <= 16 }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Keys.self)
        try container.encode(Self.version, forKey: .version)
        try container.encode(digests, forKey: .digests)
        try container.encode(largestBatch, forKey: .largestBatch)
        try container.encodeIfPresent(largestObject, forKey: .largestObject)
        try container.encodeIfPresent(parts, forKey: .parts)
    }
}
