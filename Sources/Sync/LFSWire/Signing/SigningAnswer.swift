/// The server's answer for one object of a request. It has exactly one member, or none if the operation is done.
package struct SigningAnswer: Codable, Hashable, Sendable {
    /// An object as the store reports it.
    package struct Object: Codable, Hashable, Sendable {
        package var key: String
        package var size: Int64
        /// The SHA-256 that the store reports, or nil if it reports none.
        package var sha256: String?
        /// The store's name for this version of the content, as in the reply to a download, without quotation marks.
        package var entityTag: String?

        package init(key: String, size: Int64, sha256: String? = nil, entityTag: String? = nil) {
            self.key = key
            self.size = size
            self.sha256 = sha256
            self.entityTag = entityTag
        }

        private enum CodingKeys: String, CodingKey {
            case key, size, sha256
            case entityTag = "entity_tag"
        }

        package init(from decoder: any Decoder) throws {
            let fields = try CheckedFields(decoder, keys: CodingKeys.self)
            key = try fields.required(.key, rule: "a key") {
                (1...512).contains($0.utf8.count) && WireFormat.isPlain($0, limit: 512)
            }
            size = try fields.required(.size, rule: "a size") { (0...WireFormat.largestNumber).contains($0) }
            sha256 = try fields.hex(.sha256, byteCount: 32)
            entityTag = try fields.plain(.entityTag, limit: 1_024)
        }
    }

    /// An upload in parts. All parts but the last have the same size.
    package struct Parts: Codable, Hashable, Sendable {
        /// The token that every further request for this upload carries.
        package var upload: String
        package var partSize: Int64

        package init(upload: String, partSize: Int64) {
            self.upload = upload
            self.partSize = partSize
        }

        private enum CodingKeys: String, CodingKey {
            case upload
            case partSize = "part_size"
        }

        package init(from decoder: any Decoder) throws {
            let fields = try CheckedFields(decoder, keys: CodingKeys.self)
            upload = try fields.required(.upload, rule: "an upload token", WireFormat.isToken)
            partSize = try fields.required(.partSize, rule: "a size above 0") {
                (1...WireFormat.largestNumber).contains($0)
            }
        }
    }

    /// A part that the store has received.
    package struct Part: Codable, Hashable, Sendable {
        package var number: Int64
        package var size: Int64
        /// The SHA-256 that the store reports, or nil if it reports none.
        package var sha256: String?
        package var md5: String?

        package init(number: Int64, size: Int64, sha256: String? = nil, md5: String? = nil) {
            self.number = number
            self.size = size
            self.sha256 = sha256
            self.md5 = md5
        }

        private enum CodingKeys: String, CodingKey { case number, size, sha256, md5 }

        package init(from decoder: any Decoder) throws {
            let fields = try CheckedFields(decoder, keys: CodingKeys.self)
            number = try fields.required(.number, rule: "1 to 100000") { (1...100_000).contains($0) }
            size = try fields.required(.size, rule: "a size") { (0...WireFormat.largestNumber).contains($0) }
            sha256 = try fields.hex(.sha256, byteCount: 32)
            md5 = try fields.hex(.md5, byteCount: 16)
        }
    }

    /// A page of a listing.
    package struct Page: Codable, Hashable, Sendable {
        /// The objects, sorted by the bytes of their keys.
        package var objects: [Object]
        /// The continuation for the next page, or nil on the last page.
        package var next: String?

        package init(objects: [Object], next: String? = nil) {
            self.objects = objects
            self.next = next
        }

        private enum CodingKeys: String, CodingKey { case objects, next }

        package init(from decoder: any Decoder) throws {
            let fields = try CheckedFields(decoder, keys: CodingKeys.self)
            objects = try fields.required(.objects, rule: "at most 10000 objects") { $0.count <= 10_000 }
            next = try fields.plain(.next, limit: 4_096)
        }
    }

    /// The actions by the name of their operation.
    package var actions: [String: SigningAction]?
    package var object: Object?
    package var parts: Parts?
    /// The parts that the store has received.
    package var present: [Part]?
    package var page: Page?
    package var error: WireFailure?

    /// The answer for an operation that is done and returns nothing.
    package static let done = SigningAnswer()

    package static func action(_ action: SigningAction, for operation: SigningOperation) -> SigningAnswer {
        var answer = SigningAnswer()
        answer.actions = [operation.rawValue: action]
        return answer
    }

    package static func object(_ object: Object) -> SigningAnswer {
        var answer = SigningAnswer()
        answer.object = object
        return answer
    }

    package static func parts(_ parts: Parts) -> SigningAnswer {
        var answer = SigningAnswer()
        answer.parts = parts
        return answer
    }

    package static func present(_ parts: [Part]) -> SigningAnswer {
        var answer = SigningAnswer()
        answer.present = parts
        return answer
    }

    package static func page(_ page: Page) -> SigningAnswer {
        var answer = SigningAnswer()
        answer.page = page
        return answer
    }

    package static func refused(_ error: WireFailure) -> SigningAnswer {
        var answer = SigningAnswer()
        answer.error = error
        return answer
    }

    /// Returns the action for the requested operation.
    package func action(for operation: SigningOperation) -> SigningAction? { actions?[operation.rawValue] }
}
