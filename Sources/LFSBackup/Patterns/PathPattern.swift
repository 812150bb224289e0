/// A pattern for paths, as users of rclone write it.
///
/// | in the pattern | stands for |
/// |---|---|
/// | `*` | anything but a slash |
/// | `**` | anything |
/// | `?` | one character, but no slash |
/// | `[a-z]`, `[^a-z]` | one character of the class, or one that is not in it |
/// | `{jpg,heic}` | one of these |
/// | `\` | the next character as it is |
/// | `/` at the start | the top: the pattern begins there and not in any folder |
/// | `/` at the end | everything in a folder of that name |
///
/// Letters are compared as they are written. A path that is no text counts as one with U+FFFD for each byte that is
/// none. Source: rclone, "Filtering, includes and excludes"; its `{{…}}` is refused. Where rclone looks into no folder
/// that might have more matches, as for `y/x/*` to be included, they are found here.
public struct PathPattern: Hashable, Sendable, CustomStringConvertible {
    /// The pattern as it was written.
    public let description: String
    private let steps: [Step]

    /// A pattern from its text.
    ///
    /// - Throws: ``BackupError/Code/illegalPattern``, with what is wrong in it.
    public init(_ text: String) throws(BackupError) {
        description = text
        var parser = PatternParser(text)
        steps = try parser.parse()
    }

    /// Whether the text has a character that means more than itself.
    public static func isPattern(_ text: String) -> Bool { text.contains { "*?[{\\".contains($0) } }

    /// Whether a path matches; a slash at its start is passed over.
    public func matches(_ path: AssetName) -> Bool {
        var states = States(count: steps.count)
        // Where the top does not matter the pattern may begin behind every slash.
        add(0, to: &states, isAtSlash: true)
        for scalar in String(decoding: path.bytes.drop { $0 == AssetName.slash }, as: UTF8.self).unicodeScalars {
            var next = States(count: steps.count)
            for state in states.members {
                switch steps[state] {
                case .character(let own) where own == scalar: add(state + 1, to: &next, isAtSlash: scalar == "/")
                case .one(let set) where set.contains(scalar): add(state + 1, to: &next, isAtSlash: scalar == "/")
                // It stays where it is, and may be through: the way on has been added with it.
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

    /// Adds a state and those that are reached from it without a character.
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

    /// The states that a match may be in: however the pattern is written, there are no more than its steps, so no path
    /// takes longer than its length times theirs.
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

    /// One step of the automaton; the next one follows it. Source: Thompson, "Regular expression search algorithm",
    /// CACM 11 (1968).
    enum Step: Hashable, Sendable {
        case character(Unicode.Scalar)
        case one(CharacterClass)
        case many(CharacterClass)
        /// The start of a pattern that may begin in any folder.
        case anywhere
        case branch([Int])
        case jump(Int)
        case end
    }
}

/// Characters that a pattern takes at a place.
struct CharacterClass: Hashable, Sendable {
    var ranges: [ClosedRange<Unicode.Scalar>]
    var isNegated: Bool

    static let all = CharacterClass(ranges: [], isNegated: true)
    static let allButSlash = CharacterClass(ranges: ["/"..."/"], isNegated: true)

    func contains(_ scalar: Unicode.Scalar) -> Bool { ranges.contains { $0.contains(scalar) } != isNegated }
}
