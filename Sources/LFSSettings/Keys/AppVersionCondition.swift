/// A condition on the version of the app that has written the data.
///
/// Versions are numbers with points between them, and `2.10` is above `2.9`. What stands behind the numbers, as in
/// `2.0-beta`, makes the version come before the one without it. Data whose version is not known is below every
/// version: it was written before the app used these settings.
public struct AppVersionCondition: Sendable {
    let isMet: @Sendable (_ previous: String?) -> Bool

    /// Data of a version before this one.
    public static func below(_ version: String) -> Self {
        let bound = AppVersion(version)
        return Self { previous in previous.map { AppVersion($0) < bound } ?? true }
    }

    /// Data of this version or a later one.
    public static func atLeast(_ version: String) -> Self {
        let bound = AppVersion(version)
        return Self { previous in previous.map { !(AppVersion($0) < bound) } ?? false }
    }
}

/// A version in its parts.
struct AppVersion: Comparable, Sendable {
    private let numbers: [UInt64]
    private let rest: String

    init(_ text: String) {
        let numeric = text.prefix { $0 == "." || ("0"..."9").contains($0) }
        var numbers = numeric.split(separator: ".").map { UInt64($0) ?? .max }
        while numbers.last == 0 { numbers.removeLast() }
        self.numbers = numbers
        // What is behind a plus has no say: semver.org, section 10.
        rest = String(text.dropFirst(numeric.count).prefix { $0 != "+" })
    }

    static func < (left: Self, right: Self) -> Bool {
        if left.numbers != right.numbers { return left.numbers.lexicographicallyPrecedes(right.numbers) }
        if left.rest.isEmpty || right.rest.isEmpty { return !left.rest.isEmpty && right.rest.isEmpty }
        return left.rest < right.rest
    }
}
