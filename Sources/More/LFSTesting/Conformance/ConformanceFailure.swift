public import Foundation

/// A violation of a rule of the storage contract.
public struct ConformanceFailure: LocalizedError, Sendable, CustomStringConvertible {
    /// The ``StorageCheck/name`` of the check that found it.
    package let check: String
    /// The rule that was violated.
    package let rule: String
    /// The unexpected error of the storage, if there was one.
    package let cause: (any Error)?

    init(check: String, rule: String, cause: (any Error)? = nil) {
        self.check = check
        self.rule = rule
        self.cause = cause
    }

    /// The check and the violated rule.
    public var description: String {
        let text = "In \"\(check)\": expected that \(rule)."
        return cause.map { "\(text) The error was: \($0)" } ?? text
    }

    /// The same as ``description``, for alerts.
    public var errorDescription: String? { description }
}
