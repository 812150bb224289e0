/// A notice about a commit or a stream. A database passes it to the servers that use the database.
public enum ServerNotice: Hashable, Sendable {
    /// Rows of a scope have changed.
    case rows(scope: String)
    /// The scopes that an account may read have changed, or one of the account's sessions has ended or starts over.
    case access(account: String)
    /// A server has opened a stream of a session. All servers receive these notices in the same order.
    case stream(session: String, id: String)
    /// Notices may have been lost, so anything may have changed. The cause is nil if nothing has failed.
    case missed(cause: String?)

    /// The notice as a line of a message, or nil for a text of another form. A line has no line ending.
    ///
    /// - Parameter line: a text that ``line`` has written, or a trigger of PostgreSQL.
    public init?(line: some StringProtocol) {
        let words = String(line).split(separator: " ", omittingEmptySubsequences: false).map { String($0) }
        switch (words.first, words.count) {
        case ("s", 2): self = .rows(scope: words[1])
        case ("a", 2): self = .access(account: words[1])
        case ("o", 3): self = .stream(session: words[1], id: words[2])
        case ("*", 1): self = .missed(cause: nil)
        default: return nil
        }
    }

    /// The notice as a line of a message. Scopes and ids contain no spaces.
    public var line: String {
        switch self {
        case .rows(let scope): "s \(scope)"
        case .access(let account): "a \(account)"
        case .stream(let session, let id): "o \(session) \(id)"
        case .missed: "*"
        }
    }
}
