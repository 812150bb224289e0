import Foundation
import GRDB
import LFS

/// The host's own record: one for each file that was pushed. Its bytes are the `FileData` that it refers to.
struct Document: Codable, FetchableRecord, PersistableRecord, Sendable {
    /// Where the file was, from the root of the file system.
    var path: FilePath
    /// The path from the name of the folder that was pushed on, or the file's name.
    var title: String
    var addedAt: Date
    var fileId: FileData.ID
    /// What the file looked like when it was attached: see ``FileStamp``.
    var stamp: String

    static let file = belongsTo(FileData.self, key: "file", using: ForeignKey(["fileId"]))
}

extension FilePath: Codable {
    package init(from decoder: any Decoder) throws {
        self.init(try decoder.singleValueContainer().decode(String.self))
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}

/// A document with its file, read in one query.
struct AttachedDocument: Decodable, FetchableRecord, Sendable {
    var document: Document
    var file: FileData

    static func all() -> QueryInterfaceRequest<AttachedDocument> {
        Document.including(required: Document.file).asRequest(of: AttachedDocument.self)
    }
}
