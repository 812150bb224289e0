import LFSHTTP
import LFSHTTPStorage
import LFSStorage

/// The reply to "Get Block List": the blocks of the blob, and the uncommitted blocks.
struct BlockListReply: Hashable, Sendable {
    struct Block: Hashable, Sendable {
        let name: String
        let byteCount: Int64
    }

    let committed: [Block]
    let uncommitted: [Block]
    /// The entity tag of the blob. nil if there are only blocks.
    let entityTag: EntityTag?
    /// True if the blob exists, and not only blocks.
    var isBlob: Bool { entityTag != nil }

    /// The maximum length in bytes, for 150,000 blocks with IDs of 88 characters.
    static let limit = 24 << 20

    /// - Throws: ``StorageError/Code/serverError`` when the body is something else.
    init(_ response: HTTPResponse) throws(StorageError) {
        let root = try XMLReader.read(response.body, root: "BlockList", limit: Self.limit)
        committed = try Self.blocks(root, name: "CommittedBlocks")
        uncommitted = try Self.blocks(root, name: "UncommittedBlocks")
        entityTag = response.headers["etag"].flatMap(EntityTag.init)
    }

    private static func blocks(_ root: ReplyElement, name: String) throws(StorageError) -> [Block] {
        var blocks: [Block] = []
        for element in root.all(name).first?.all("Block") ?? [] {
            blocks.append(
                Block(
                    name: try element.required("Name"), byteCount: try element.required("Size", in: 0...Int64.max)))
        }
        return blocks
    }
}
