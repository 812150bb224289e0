/// A parser that compiles a pattern into the steps of its automaton.
struct PatternParser {
    private let text: String
    private let characters: [Unicode.Scalar]
    private var position = 0
    private var steps: [PathPattern.Step] = []
    /// The open alternatives: their branch step, the start of each one, and the jumps after them.
    private var braces: (branch: Int, starts: [Int], jumps: [Int])?

    init(_ text: String) {
        self.text = text
        characters = Array(text.unicodeScalars)
    }

    mutating func parse() throws(BackupError) -> [PathPattern.Step] {
        guard !characters.isEmpty else { throw illegal("is empty") }
        guard text != "/" else { throw illegal("matches nothing: write /** for everything") }
        if characters[0] == "/" { position = 1 } else { steps.append(.anywhere) }
        while let character = take() { try parse(character) }
        guard braces == nil else { throw illegal("has a { without a }") }
        if characters.last == "/" { steps.append(.many(.all)) }
        steps.append(.end)
        return steps
    }

    private mutating func parse(_ character: Unicode.Scalar) throws(BackupError) {
        switch character {
        case "*": steps.append(.many(try takeStars()))
        case "?": steps.append(.one(.allButSlash))
        case "[": steps.append(.one(try takeClass()))
        case "]": throw illegal("has a ] without a [")
        case "{": try openBraces()
        case "}": try closeBraces()
        case "," where braces != nil: endAlternative()
        case "\\":
            guard let next = take() else { throw illegal("ends with \\, which has to be followed by a character") }
            steps.append(.character(next))
        default: steps.append(.character(character))
        }
    }

    private mutating func take() -> Unicode.Scalar? {
        guard position < characters.count else { return nil }
        defer { position += 1 }
        return characters[position]
    }

    private mutating func takeStars() throws(BackupError) -> CharacterClass {
        var count = 1
        while position < characters.count, characters[position] == "*" { (position, count) = (position + 1, count + 1) }
        guard count <= 2 else { throw illegal("has more than two stars in a row: ** matches anything") }
        return count == 2 ? .all : .allButSlash
    }

    private mutating func takeClass() throws(BackupError) -> CharacterClass {
        var found = CharacterClass(ranges: [], isNegated: false)
        if position < characters.count, characters[position] == "^" {
            position = position + 1
            found.isNegated = true
        }
        while true {
            guard let first = take() else { throw illegal("has a [ without a ]") }
            if first == "]" {
                guard !found.ranges.isEmpty else { throw illegal("has a class without characters: write \\] for a ]") }
                return found
            }
            if first == "[" { throw illegal("has a [ within [ ]: write \\[ for the character") }
            let low = try takeEscaped(first)
            // A hyphen before the closing bracket is literal.
            guard position + 1 < characters.count, characters[position] == "-", characters[position + 1] != "]" else {
                found.ranges.append(low...low)
                continue
            }
            position += 1
            guard let second = take() else { throw illegal("has a [ without a ]") }
            let high = try takeEscaped(second)
            guard low <= high else { throw illegal("has a range that ends before it begins") }
            found.ranges.append(low...high)
        }
    }

    private mutating func takeEscaped(_ character: Unicode.Scalar) throws(BackupError) -> Unicode.Scalar {
        guard character == "\\" else { return character }
        guard let next = take() else { throw illegal("has a [ without a ]") }
        return next
    }

    // MARK: Alternatives

    private mutating func openBraces() throws(BackupError) {
        if position < characters.count, characters[position] == "{" {
            throw illegal("has {{…}}, which is not supported")
        }
        guard braces == nil else { throw illegal("has a { within { }") }
        braces = (steps.count, [steps.count + 1], [])
        steps.append(.branch([]))
    }

    private mutating func endAlternative() {
        braces?.jumps.append(steps.count)
        steps.append(.jump(0))
        braces?.starts.append(steps.count)
    }

    private mutating func closeBraces() throws(BackupError) {
        guard let open = braces else { throw illegal("has a } without a {") }
        braces = nil
        steps[open.branch] = .branch(open.starts)
        for jump in open.jumps { steps[jump] = .jump(steps.count) }
    }

    private func illegal(_ what: String) -> BackupError {
        BackupError(.illegalPattern, message: "The pattern '\(AssetName(text))' \(what).")
    }
}
