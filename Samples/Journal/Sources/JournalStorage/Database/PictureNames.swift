/// The names under which the pictures of one record are shown.
///
/// Two devices that are not connected may give two pictures the same name. The picture with the lower id keeps the
/// name, and the others get the next free numbers in the order of their ids: every device computes the same names, and
/// no picture hides another one. The next change of the record's pictures stores these names.
struct PictureNames {
    struct Row {
        let id: String
        var name: String
        var number: Int
        let position: Int
        let fileID: String
    }

    /// The rows in their order, each with a unique name.
    private(set) var rows: [Row]
    /// The indexes in `rows` of the pictures that are stored under another name.
    let renamed: [Int]

    /// - Parameter stored: The rows of one record by their position and id.
    init(_ stored: [Row]) {
        rows = stored
        guard Set(stored.map(\.name)).count < stored.count else {
            renamed = []
            return
        }
        var taken: Set<String> = []
        var next = Self.number(after: stored)
        var found: [Int] = []
        for index in stored.indices.sorted(by: { stored[$0].id < stored[$1].id }) {
            if taken.insert(rows[index].name).inserted { continue }
            // A value that is not a name of a picture is kept, so that it is reported as damaged.
            guard let name = ImageName(rows[index].name),
                let free = ImageName(recordID: name.recordID, index: next, fileExtension: name.fileExtension)
            else { continue }
            rows[index].name = free.description
            rows[index].number = next
            taken.insert(free.description)
            found.append(index)
            next += 1
        }
        renamed = found.sorted()
    }

    /// The first number that is larger than all numbers in use.
    var freeNumber: Int { Self.number(after: rows) }

    func row(named name: String) -> Row? { rows.first { $0.name == name } }

    /// Returns the number after the largest one in use. Rows are untrusted input: a number outside of the permitted
    /// range is ignored, so that there is always a next one. Numbers in names count too, so that no picture gets the
    /// name of another one.
    private static func number(after rows: [Row]) -> Int {
        let numbers = rows.flatMap { [$0.number, ImageName($0.name)?.index ?? -1] }
        return (numbers.filter(ImageName.indexes.contains).max() ?? -1) + 1
    }
}
