public import Foundation
import LFSWire

/// A limit of the account that keeps local changes from being sent.
///
/// The changes wait on this device. They are sent once rows were deleted or the operator of the server has raised the
/// limit.
public struct SyncQuotaError: LocalizedError, Sendable, Hashable, CustomStringConvertible {
    /// The limits of an account.
    public enum Limit: Hashable, Sendable {
        /// The number of rows.
        case rows
        /// The bytes of rows.
        case rowBytes
        /// The bytes of files.
        case fileBytes
        /// A limit of a later version of the server, with its name in messages.
        case other(String)

        /// Creates a limit from its name in messages.
        init(name: String) {
            switch name {
            case "rows": self = .rows
            case "row_bytes": self = .rowBytes
            case "file_bytes": self = .fileBytes
            default: self = .other(name)
            }
        }

        /// The name of the limit in messages.
        var name: String {
            switch self {
            case .rows: "rows"
            case .rowBytes: "row_bytes"
            case .fileBytes: "file_bytes"
            case .other(let name): name
            }
        }
    }

    /// The exceeded limit.
    public let limit: Limit
    /// The largest value that the server permits.
    public let value: Int64

    /// A sentence for the user.
    public var description: String {
        let words =
            switch limit {
            case .rows: "\(value) rows"
            case .rowBytes: "\(value) bytes of rows"
            case .fileBytes: "\(value) bytes of files"
            case .other(let name): "\(value) of '\(name)'"
            }
        return "The account may have at most \(words). The changes wait on this device until there is room."
    }

    /// The same as ``description``, for alerts.
    public var errorDescription: String? { description }

    /// A sentence with advice for the user.
    public var recoverySuggestion: String? { "Delete something, or ask the operator of the server for more room." }
}

extension SyncQuotaError {
    /// The beginning of the text in `waits` for changes that exceed a limit. No table has such a name.
    static let mark = "quota:"

    /// The text in `waits`.
    var waits: String { "\(Self.mark)\(limit.name):\(value)" }

    /// - Parameter text: a text in `waits`. The result is nil if it names a table or column.
    init?(waits text: String) {
        guard text.hasPrefix(Self.mark) else { return nil }
        let parts = text.dropFirst(Self.mark.count).split(separator: ":", omittingEmptySubsequences: false)
        // Another program may have written the text.
        limit = Limit(name: parts.first.map(String.init) ?? "")
        value = parts.count == 2 ? Int64(parts[1]) ?? 0 : 0
    }

    /// - Parameter failure: the refusal of a change. The result is nil for another refusal.
    init?(_ failure: WireFailure) {
        guard failure.code == .quotaExceeded else { return nil }
        limit = Limit(name: failure.exceeded?.name ?? "quota")
        value = failure.exceeded?.value ?? 0
    }
}
