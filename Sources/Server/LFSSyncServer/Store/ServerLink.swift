/// The link of a process to the other servers of its database.
public struct ServerLink: Sendable {
    /// Sends a notice to all servers, including this one.
    let announce: @Sendable (ServerNotice) -> Void
    /// Returns true if no server runs the task with a name. Until its end, all others receive false.
    let takeTurn: @Sendable (String) async throws -> Bool
    let endTurn: @Sendable (String) async -> Void

    /// Creates a link.
    ///
    /// - Parameters:
    ///   - announce: sends a notice to all servers, including this one. It must not block.
    ///   - takeTurn: returns true if no server runs the task with a name. From then on, it returns false to all.
    ///   - endTurn: ends the task, so that another server may run it.
    public init(
        announce: @escaping @Sendable (ServerNotice) -> Void,
        takeTurn: @escaping @Sendable (String) async throws -> Bool,
        endTurn: @escaping @Sendable (String) async -> Void
    ) {
        self.announce = announce
        self.takeTurn = takeTurn
        self.endTurn = endTurn
    }
}
