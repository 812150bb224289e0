/// The answer of a server to the question for a list, of parts or of uploads, that could not be read as one.
struct UnreadableReply: Error {
    /// Whether it is a whole XML document. Then nothing was cut off: the server writes such lists in another way, and
    /// would answer the same again.
    let isWhole: Bool
}
