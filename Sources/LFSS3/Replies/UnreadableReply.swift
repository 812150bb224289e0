/// Why a list from a server was no list to this package.
struct UnreadableReply: Error {
    /// Whether it is a whole document: then the server has words of its own, and nothing was cut off.
    let isWhole: Bool
}
