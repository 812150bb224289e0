import ArgumentParser
import LFSSyncServer

/// What accounts share, which a database of the app does not say.
struct SharingOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            Tables of a shared container: album:album_user:album_file:lfs_file, which are the containers, their \
            members, their links, and what those lead to. May be there more than once.
            """, valueName: "tables"))
    var container: [String] = []

    @Option(
        help: ArgumentHelp(
            "The table of partners and its columns: partner:sharedByID:sharedWithID.", valueName: "table"))
    var partners: String?

    /// The schema with what is shared.
    func adding(to schema: SyncSchema) throws -> SyncSchema {
        var schema = schema
        for text in container {
            let names = text.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
            guard names.count == 4, !names.contains("") else {
                throw ValidationError("--container has to be four tables, as in album:album_user:album_file:lfs_file.")
            }
            schema.containers.append(.init(names[0], members: names[1], links: names[2], of: names[3]))
        }
        if let partners {
            let names = partners.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
            guard names.count == 3, !names.contains("") else {
                throw ValidationError(
                    "--partners has to be a table and two columns, as in partner:sharedByID:sharedWithID.")
            }
            schema.partners = .init(names[0], from: names[1], to: names[2])
        }
        return schema
    }
}
