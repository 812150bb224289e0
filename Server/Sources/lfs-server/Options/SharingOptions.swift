import ArgumentParser
import LFSSyncServer

/// The sharing rules of accounts, which are not part of the app's database.
struct SharingOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            The tables of shared containers, as in album:album_user:album_file:lfs_file: the containers, their \
            members, their links, and the table that the links refer to. Can be given several times.
            """, valueName: "tables"))
    var container: [String] = []

    @Option(
        help: ArgumentHelp(
            "The table of partners and its two columns: partner:sharedByID:sharedWithID.", valueName: "table"))
    var partners: String?

    @Option(
        help: ArgumentHelp(
            """
            The table of people, as in 'user': a row for each account with its name, which the members of a shared \
            container receive. It has the text column 'name'.
            """, valueName: "table"))
    var people: String?

    /// Indicates that the command line has one of the options.
    var isGiven: Bool { !container.isEmpty || partners != nil || people != nil }

    /// Returns the schema with the sharing rules.
    func adding(to schema: SyncSchema) throws -> SyncSchema {
        var schema = schema
        for text in container {
            let names = text.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
            guard names.count == 4, !names.contains("") else {
                throw ValidationError("--container must name four tables, as in album:album_user:album_file:lfs_file.")
            }
            schema.containers.append(.init(names[0], members: names[1], links: names[2], of: names[3]))
        }
        if let partners {
            let names = partners.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
            guard names.count == 3, !names.contains("") else {
                throw ValidationError(
                    "--partners must name a table and two columns, as in partner:sharedByID:sharedWithID.")
            }
            schema.partners = .init(names[0], from: names[1], to: names[2])
        }
        if let people { schema.people = .init(people) }
        return schema
    }
}
