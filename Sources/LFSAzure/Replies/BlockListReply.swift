import LFSHTTP
import LFSHTTPStorage
import LFSStorage

/// The answer to "Get Block List": what the blob is made of, and what waits to become a part of it.
struct BlockListReply: Hashable, Sendable {
    struct Block: Hashable, Sendable {
        let name: String
        let byteCount: Int64
    }

    let committed: [Block]
    let uncommitted: [Block]
    /// The blob's; nil when there are only blocks.
    let entityTag: EntityTag?
    /// Whether there is a blob, and not only blocks.
    var isBlob: Bool { entityTag != nil }

    /// How long it may be: 150,000 blocks with ids of 88 characters.
    static let limit = 24 << 20

    /// - Throws: ``StorageError/Code/serverError`` when the body is something else.
    init(_ response: HTTPResponse) throws(StorageError) {
        let root = try XMLReader.read(response.body, root: "BlockList", limit: Self.limit)
        committed = try Self.blocks(root, "CommittedBlocks")
        uncommitted = try Self.blocks(root, "UncommittedBlocks")
        entityTag = response.headers["etag"].flatMap(EntityTag.init)
    }

    private static func blocks(_ root: ReplyElement, _ name: String) throws(StorageError) -> [Block] {
        var blocks: [Block] = []
        for element in root.all(name).first?.all("Block") ?? [] {
            blocks.append(
                Block(
                    name: try element.required("Name"), byteCount: try element.required("Size", in: 0...Int64.max)))
        }
        return blocks
    }
}
