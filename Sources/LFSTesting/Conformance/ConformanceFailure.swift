public import Foundation

/// A rule of the storage contract that a storage broke.
public struct ConformanceFailure: LocalizedError, Sendable, CustomStringConvertible {
    /// The ``StorageCheck/name`` of the check that found it.
    public let check: String
    /// What should have held.
    public let rule: String
    /// The error that the storage threw where it should not have, if it was one.
    public let cause: (any Error)?

    init(check: String, rule: String, cause: (any Error)? = nil) {
        self.check = check
        self.rule = rule
        self.cause = cause
    }

    /// The check and the rule that was broken.
    public var description: String {
        let text = "In \"\(check)\": expected that \(rule)."
        return cause.map { "\(text) The error was: \($0)" } ?? text
    }

    /// The same as ``description``, for alerts.
    public var errorDescription: String? { description }
}
