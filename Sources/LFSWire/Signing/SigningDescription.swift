/// What the server says of itself to a GET of its base URL.
package struct SigningDescription: Codable, Hashable, Sendable {
    /// The version of the protocol that this module speaks.
    package static let version = 1

    /// A digest that uploads and parts have to name.
    package struct Digest: RawRepresentable, Hashable, Codable, Sendable {
        package let rawValue: String
        package init(rawValue: String) { self.rawValue = rawValue }
        package static let sha256 = Digest(rawValue: "sha256")
        package static let md5 = Digest(rawValue: "md5")
    }

    /// How uploads are cut into parts.
    package struct Parts: Codable, Hashable, Sendable {
        /// Objects from this size on are uploaded in parts.
        package var threshold: Int64
        /// The smallest part but the last.
        package var smallest: Int64
        /// The largest part.
        package var largest: Int64
        /// How many parts at the most.
        package var count: Int64
        /// What each part has to name; nil when that is what uploads have to.
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

    /// What uploads have to name; always with sha256.
    package var digests: [Digest]
    /// How many objects a request may have.
    package var largestBatch: Int64
    /// Bytes of the largest object; nil when the server names no limit.
    package var largestObject: Int64?
    /// nil when every object is uploaded with one request.
    package var parts: Parts?

    package init(
        digests: [Digest], largestBatch: Int64, largestObject: Int64? = nil, parts: Parts? = nil
    ) {
        self.digests = digests
        self.largestBatch = largestBatch
        self.largestObject = largestObject
        self.parts = parts
    }

    /// What parts have to name.
    package var partDigests: [Digest] { parts?.digests ?? digests }

    private enum Keys: String, CodingKey {
        case version, digests, parts
        case largestBatch = "largest_batch"
        case largestObject = "largest_object"
    }

    package init(from decoder: any Decoder) throws {
        let fields = try CheckedFields(decoder, Keys.self)
        _ = try fields.required(.version, as: Int.self, "\(Self.version)") { $0 == Self.version }
        digests = try fields.required(.digests, "a list of digests with sha256", Self.areDigests)
        largestBatch = try fields.required(.largestBatch, "1 to 10000") { (1...10_000).contains($0) }
        largestObject = try fields.number(.largestObject)
        parts = try fields.optional(.parts, "how uploads are cut") { (parts: Parts) in
            parts.threshold >= 0 && parts.smallest > 0 && parts.largest >= parts.smallest
                && parts.largest <= WireFormat.largestNumber && (1...100_000).contains(parts.count)
                && parts.digests.map(Self.areDigests) != false
        }
    }

    private static func areDigests(_ digests: [Digest]) -> Bool { digests.contains(.sha256) && digests.count <= 16 }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Keys.self)
        try container.encode(Self.version, forKey: .version)
        try container.encode(digests, forKey: .digests)
        try container.encode(largestBatch, forKey: .largestBatch)
        try container.encodeIfPresent(largestObject, forKey: .largestObject)
        try container.encodeIfPresent(parts, forKey: .parts)
    }
}
