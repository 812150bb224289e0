/// A search for the name that a mistyped one was meant to be.
public enum SimilarName {
    /// Returns the most similar name, or nil if all names differ in more than two characters.
    public static func find(_ name: String, names: [String]) -> String? {
        let near = names.map { (name: $0, distance: distance(name, right: $0)) }.min { $0.distance < $1.distance }
        return near.flatMap { $0.distance <= 2 ? $0.name : nil }
    }

    /// Returns the number of characters to insert, delete or replace. Source: Levenshtein, 1965.
    private static func distance(_ left: String, right: String) -> Int {
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
