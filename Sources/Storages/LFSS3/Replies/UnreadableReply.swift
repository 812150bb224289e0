/// An unreadable list of parts or uploads from the server.
struct UnreadableReply: Error {
    /// True if the reply is a complete XML document. It was not truncated, so the server uses another format and would
    /// answer the same again.
    let isWhole: Bool
}
