/// What the server says to one object of a request. Exactly one of its members is there, or none: done.
package struct SigningAnswer: Codable, Hashable, Sendable {
    /// An object as the store has it, by the store's own word.
    package struct Object: Codable, Hashable, Sendable {
        package var key: String
        package var size: Int64
        /// nil when the store says nothing of the bytes.
        package var sha256: String?
        /// The store's name for this version of the content, without quotation marks, as a download's reply has it.
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
            let fields = try CheckedFields(decoder, CodingKeys.self)
            key = try fields.required(.key, "a key") {
                (1...512).contains($0.utf8.count) && WireFormat.isPlain($0, limit: 512)
            }
            size = try fields.required(.size, "a size") { (0...WireFormat.largestNumber).contains($0) }
            sha256 = try fields.hex(.sha256, byteCount: 32)
            entityTag = try fields.plain(.entityTag, limit: 1_024)
        }
    }

    /// An upload in parts: all of one size but the last.
    package struct Parts: Codable, Hashable, Sendable {
        /// The token that every further request of this upload carries.
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
            let fields = try CheckedFields(decoder, CodingKeys.self)
            upload = try fields.required(.upload, "an upload token", WireFormat.isToken)
            partSize = try fields.required(.partSize, "a size above 0") { (1...WireFormat.largestNumber).contains($0) }
        }
    }

    /// A part that the store has.
    package struct Part: Codable, Hashable, Sendable {
        package var number: Int64
        package var size: Int64
        /// By the store's own word; nil when it tells none.
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
            let fields = try CheckedFields(decoder, CodingKeys.self)
            number = try fields.required(.number, "1 to 100000") { (1...100_000).contains($0) }
            size = try fields.required(.size, "a size") { (0...WireFormat.largestNumber).contains($0) }
            sha256 = try fields.hex(.sha256, byteCount: 32)
            md5 = try fields.hex(.md5, byteCount: 16)
        }
    }

    /// A page of a listing.
    package struct Page: Codable, Hashable, Sendable {
        /// In the order of their keys' bytes.
        package var objects: [Object]
        /// What to ask with for the next page; nil on the last one.
        package var next: String?

        package init(objects: [Object], next: String? = nil) {
            self.objects = objects
            self.next = next
        }

        private enum CodingKeys: String, CodingKey { case objects, next }

        package init(from decoder: any Decoder) throws {
            let fields = try CheckedFields(decoder, CodingKeys.self)
            objects = try fields.required(.objects, "at most 10000 objects") { $0.count <= 10_000 }
            next = try fields.plain(.next, limit: 4_096)
        }
    }

    /// Under the operation's name.
    package var actions: [String: SigningAction]?
    package var object: Object?
    package var parts: Parts?
    /// The parts that are there.
    package var present: [Part]?
    package var page: Page?
    package var error: WireFailure?

    /// Done, and nothing else to say.
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

    /// The action for the operation that was asked for.
    package func action(for operation: SigningOperation) -> SigningAction? { actions?[operation.rawValue] }
}
