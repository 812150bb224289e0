import ArgumentParser

/// Looks at the command's name before the parser does, which takes a mistyped one for an argument.
package enum CommandNames {
    /// What is wrong with the first words of a command line; nil when nothing is.
    package static func complaint(_ arguments: [String]) -> String? {
        // The parser would take -dash.jpg for -d -a -s -h, and show the help.
        if let odd = arguments.prefix(while: { $0 != "--" }).first(where: isNoOption) {
            return "There is no option '\(odd)'. For a file of this name write ./\(odd), or -- before it."
        }
        guard let first = arguments.first, !first.hasPrefix("-") else { return nil }
        let name = first == "help" ? arguments.dropFirst().first : first
        guard let name, !name.hasPrefix("-"), !all.contains(name) else { return nil }
        let near = all.map { (name: $0, distance: distance(name, $0)) }.min { $0.distance < $1.distance }
        let advice = near.flatMap { $0.distance <= 2 ? " Did you mean '\($0.name)'?" : nil } ?? ""
        return "There is no command '\(name)'.\(advice) 'uploader --help' lists them."
    }

    private static func isNoOption(_ word: String) -> Bool {
        word.count > 2 && word.hasPrefix("-") && !word.hasPrefix("--")
            && !word.dropFirst().allSatisfy("hlnqrv".contains)
    }

    private static let all = Uploader.configuration.subcommands.compactMap { $0.configuration.commandName }

    /// How many characters have to be put in, left out or changed. Source: Levenshtein, 1965.
    private static func distance(_ left: String, _ right: String) -> Int {
        var row = Array(0...right.count)
        for (index, a) in left.prefix(64).enumerated() {
            var next = [index + 1]
            for (position, b) in right.enumerated() {
                next.append(min(row[position] + (a == b ? 0 : 1), row[position + 1] + 1, next[position] + 1))
            }
            row = next
        }
        return row.last ?? 0
    }
}
