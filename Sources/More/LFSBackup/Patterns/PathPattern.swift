/// A pattern for paths, in the syntax of rclone.
///
/// | in the pattern | stands for |
/// |---|---|
/// | `*` | any text without a slash |
/// | `**` | any text |
/// | `?` | one character except a slash |
/// | `[a-z]`, `[^a-z]` | one character in the class, or not in the class |
/// | `{jpg,heic}` | one of these texts |
/// | `\` | the next character literally |
/// | `/` at the start | the top: the pattern matches from there and not in any folder |
/// | `/` at the end | everything in a folder of that name |
///
/// Matching is case-sensitive. In a path that is not valid text, each invalid byte counts as U+FFFD. Source: rclone,
/// "Filtering, includes and excludes". Its `{{…}}` is rejected. For patterns such as `y/x/*`, rclone skips some folders
/// that may contain matches. This filter finds those matches.
public struct PathPattern: Hashable, Sendable, CustomStringConvertible {
    /// The pattern as it was written.
    public let description: String
    private let steps: [Step]

    /// Parses a pattern.
    ///
    /// - Throws: ``BackupError/Code/illegalPattern``, with the reason.
    public init(_ text: String) throws(BackupError) {
        description = text
        var parser = PatternParser(text)
        steps = try parser.parse()
    }

    /// Returns true if the text contains a special character.
    public static func isPattern(_ text: String) -> Bool { text.contains { "*?[{\\".contains($0) } }

    /// Returns true if a path matches. A leading slash is ignored.
    public func matches(_ path: AssetName) -> Bool {
        var states = States(count: steps.count)
        // A pattern without a leading slash may match after every slash.
        add(0, to: &states, isAtSlash: true)
        for scalar in String(decoding: path.bytes.drop { $0 == AssetName.slash }, as: UTF8.self).unicodeScalars {
            var next = States(count: steps.count)
            for state in states.members {
                switch steps[state] {
                case .character(let own) where own == scalar: add(state + 1, to: &next, isAtSlash: scalar == "/")
                case .one(let set) where set.contains(scalar): add(state + 1, to: &next, isAtSlash: scalar == "/")
                // The state stays. Its successor was added together with it.
                case .many(let set) where set.contains(scalar): add(state, to: &next, isAtSlash: scalar == "/")
                case .anywhere: add(state, to: &next, isAtSlash: scalar == "/")
                default: break
                }
            }
            guard !next.members.isEmpty else { return false }
            states = next
        }
        return states.members.contains { steps[$0] == .end }
    }

    /// Adds a state and all states that are reachable from it without a character.
    private func add(_ state: Int, to states: inout States, isAtSlash: Bool) {
        guard states.insert(state) else { return }
        switch steps[state] {
        case .anywhere: if isAtSlash { add(state + 1, to: &states, isAtSlash: isAtSlash) }
        case .many: add(state + 1, to: &states, isAtSlash: isAtSlash)
        case .branch(let targets): for target in targets { add(target, to: &states, isAtSlash: isAtSlash) }
        case .jump(let target): add(target, to: &states, isAtSlash: isAtSlash)
        case .character, .one, .end: break
        }
    }

    /// The set of possible states. It never has more members than the pattern has steps, so the time is at most the
    /// length of the path times the number of steps.
    private struct States {
        private(set) var members: [Int] = []
        private var isMember: [Bool]

        init(count: Int) { isMember = Array(repeating: false, count: count) }

        mutating func insert(_ state: Int) -> Bool {
            guard !isMember[state] else { return false }
            isMember[state] = true
            members.append(state)
            return true
        }
    }

    /// A step of the automaton, which continues with the next one. Source: Thompson, "Regular expression search
    /// algorithm", CACM 11 (1968).
    enum Step: Hashable, Sendable {
        case character(Unicode.Scalar)
        case one(CharacterClass)
        case many(CharacterClass)
        /// The start of a pattern that may match in any folder.
        case anywhere
        case branch([Int])
        case jump(Int)
        case end
    }
}

/// A class of characters that a pattern accepts at one position.
struct CharacterClass: Hashable, Sendable {
    var ranges: [ClosedRange<Unicode.Scalar>]
    var isNegated: Bool

    static let all = CharacterClass(ranges: [], isNegated: true)
    static let allButSlash = CharacterClass(ranges: ["/"..."/"], isNegated: true)

    func contains(_ scalar: Unicode.Scalar) -> Bool { ranges.contains { $0.contains(scalar) } != isNegated }
}
