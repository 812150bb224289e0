/// The body of "Put Block List": uncommitted blocks, in order. Their IDs are base64 and need no escaping.
struct BlockListBody: Sendable {
    let bytes: [UInt8]

    init(_ blocks: [String]) {
        var text = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<BlockList>"
        text.reserveCapacity(64 + blocks.count * 72)
        for block in blocks { text += "<Uncommitted>\(block)</Uncommitted>" }
        bytes = Array((text + "</BlockList>").utf8)
    }
}
