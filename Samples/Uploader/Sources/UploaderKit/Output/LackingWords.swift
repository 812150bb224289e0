/// The warnings about a sync server whose schema is older than this program.
package enum LackingWords {
    /// Returns a sentence for each column (`table.column`) and table that the server lacks.
    package static func sentences(_ names: [String]) -> [String] {
        names.map { name in
            let parts = name.split(separator: ".", maxSplits: 1)
            let place = parts.count == 2 ? "column '\(parts[1])' of the table '\(parts[0])'" : "table '\(name)'"
            return "The sync server lacks the \(place). Changes that need it wait: update the server, and sync again."
        }
    }
}
