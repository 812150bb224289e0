/// The names under which the pictures of one record are shown.
///
/// Two devices that know nothing of each other give two pictures the same name. The one with the lower id keeps it, and
/// the others get the next free numbers, in the order of their ids: every device comes to the same names, and no
/// picture hides another one. The next change of the record's pictures writes them down.
struct PictureNames {
    struct Row {
        let id: String
        var name: String
        var number: Int
        let position: Int
        let fileID: String
    }

    /// In their order, each with a name of its own.
    private(set) var rows: [Row]
    /// The places in `rows` of those that are stored under another name.
    let renamed: [Int]

    /// - Parameter stored: the rows of one record by their position and id.
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
            // What is no name of a picture is told as damage, as it is.
            guard let name = ImageName(rows[index].name),
                let free = ImageName(recordID: name.recordID, index: next, fileExtension: name.fileExtension)
            else { continue }
            (rows[index].name, rows[index].number) = (free.description, next)
            taken.insert(free.description)
            found.append(index)
            next += 1
        }
        renamed = found.sorted()
    }

    /// The first number that no picture has had at the same time.
    var freeNumber: Int { Self.number(after: rows) }

    func row(named name: String) -> Row? { rows.first { $0.name == name } }

    /// Returns the number after the largest one in use. The rows are input: a number that no name can have is ignored,
    /// so that there is a next one, and names count too, so that no picture gets the name of another one.
    private static func number(after rows: [Row]) -> Int {
        let numbers = rows.flatMap { [$0.number, ImageName($0.name)?.index ?? -1] }
        return (numbers.filter(ImageName.indexes.contains).max() ?? -1) + 1
    }
}
