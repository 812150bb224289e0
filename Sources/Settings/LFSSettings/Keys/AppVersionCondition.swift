/// A condition on the version of the app that has written the data.
///
/// Versions are numbers separated by points, and `2.10` is above `2.9`. A version with a suffix, as in `2.0-beta`,
/// comes before the version without it. Data of an unknown version is below every version, because it was written
/// before the app used these settings.
public struct AppVersionCondition: Sendable {
    let isMet: @Sendable (_ previous: String?) -> Bool

    /// Data of a version below this one.
    public static func below(_ version: String) -> Self {
        let bound = AppVersion(version)
        return Self { previous in previous.map { AppVersion($0) < bound } ?? true }
    }
}

struct AppVersion: Comparable, Sendable {
    private let numbers: [UInt64]
    private let rest: String

    init(_ text: String) {
        let numeric = text.prefix { $0 == "." || ("0"..."9").contains($0) }
        var numbers = numeric.split(separator: ".").map { UInt64($0) ?? .max }
        while numbers.last == 0 { numbers.removeLast() }
        self.numbers = numbers
        // Text after a plus sign does not affect the order: semver.org, section 10.
        rest = String(text.dropFirst(numeric.count).prefix { $0 != "+" })
    }

    static func < (left: Self, right: Self) -> Bool {
        if left.numbers != right.numbers { return left.numbers.lexicographicallyPrecedes(right.numbers) }
        if left.rest.isEmpty || right.rest.isEmpty { return !left.rest.isEmpty && right.rest.isEmpty }
        return left.rest < right.rest
    }
}
